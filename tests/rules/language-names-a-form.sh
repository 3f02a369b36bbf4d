#!/usr/bin/env bash
# tests/rules/language.sh refuses each form of its list, in each kind of file, with file, line and what to say.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
list=$top/tests/rules/language.tsv

printf 'Install the NVIDIA driver.\n# Bring up the cluster: there is no other.\n' >"$tree/good.md"
"$top/tests/rules/language.sh" "$tree"

mapfile -t forms < <(grep -vE '^(#|exempt|$)' "$list")
[ "${#forms[@]}" -ge 30 ]
kinds=(md yaml sh cpp hpp cmake txt)
for i in "${!forms[@]}"; do
  IFS=$'\t' read -r _ say example <<<"${forms[i]}"
  file=bad.${kinds[i % ${#kinds[@]}]}
  printf 'first line\n// %s\n' "$example" >"$tree/$file"
  if said=$("$top/tests/rules/language.sh" "$tree"); then echo "passed: $example" && exit 1; fi
  grep -qE "^$file:2: \"[^\"]+\": say " <<<"$said" || { echo "$example: $said" && exit 1; }
  grep -qF ": say $say" <<<"$said" || { echo "$example: $said" && exit 1; }
  rm "$tree/$file"
done
