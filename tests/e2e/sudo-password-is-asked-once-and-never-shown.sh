#!/usr/bin/env bash
# A login that needs a password for sudo: from a file; without it an error that says so.
. "$(dirname "$0")/common"

a_host node
"$top/tests/lib/lab-cluster" --user gpupw node >cluster.yaml
exits 0 gpuadm facts -f cluster.yaml --sudo-password-file "$(lab password)" -o json
jq -e '.node.os.euid == "0"' out
lacks -F "$(cat "$(lab password)")" .local out err || fail "the password is shown"
gpuadm facts -f cluster.yaml >out 2>err </dev/null && fail "sudo without a password"
grep -q -- --sudo-password-file out err
