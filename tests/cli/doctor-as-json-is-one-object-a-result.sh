#!/usr/bin/env bash
# -o json: a summary, and every result with id, host, result, severity.
. "$(dirname "$0")/common"

gpuadm doctor -o json >out 2>err || true
jq -e '.findings | length > 20 and all(.[]; has("id") and has("host") and has("remedy")
  and (.result | IN("pass", "fail", "skip", "unknown", "timeout")) and (.severity | IN("note", "warning", "blocker")))' out
