#!/usr/bin/env bash
# No script in the tree gives shellcheck anything to say, those inside playbooks included.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t files < <(git grep -lIE '^(#!.*\b(ba|da)?sh\b|# shellcheck shell=)' | sort)
[ ${#files[@]} -gt 0 ]
shellcheck --external-sources --source-path=SCRIPTDIR "${files[@]}"

# The scripts of playbooks, one file each, padded so that line numbers are the playbook's. What they read and set is
# shared with playbooks/prelude.sh.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mapfile -t playbooks < <(git ls-files 'playbooks/**.yaml')
awk -v scratch="$scratch" '
  function indent(line) { match(line, /^ */); return RLENGTH }
  FNR == 1 { out = "" }
  out != "" && (/^ *$/ || indent($0) > outer) { print substr($0, inner + 1) >out; next }
  { out = "" }
  /^ *(check|apply|debian|redhat|suse): \|$/ {
    outer = indent($0); inner = outer + 2; name = FILENAME; gsub("/", "_", name)
    out = scratch "/" name ":" FNR ".sh"
    print "# shellcheck shell=sh disable=SC2034,SC2154" >out
    for (i = 1; i < FNR; i++) print "" >out
  }
' "${playbooks[@]}"
cd "$scratch"
shellcheck ./*.sh
