#!/usr/bin/env bash
# docs/screens shows what gpuadm shows. Those of init are from runs on real hosts: their phases are the ones that there are.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$top/docs/screens/make" "$place"
diff -r --exclude='make*' --exclude='init-*' "$top/docs/screens" "$place" | head -n 40
diff -rq --exclude='make*' --exclude='init-*' "$top/docs/screens" "$place" >/dev/null || {
  echo 'docs/screens is not what gpuadm shows: run docs/screens/make' >&2
  exit 1
}

phases=$("${GPUADM:-$top/build/gpuadm}" init --list-phases | sed -E 's/^([^ ]+) +/\1: /')
for file in "$top"/docs/screens/init-*.txt; do
  grep -qE '^1 host: [1-9][0-9]* changed' "$file" || { echo "$file: no run that came to its end: run docs/screens/make-init" >&2 && exit 1; }
  sed -nE '/^[a-z]+\/[a-z-]+: [A-Z]/ { s/^([^(]*[^( ]).*/\1/; s/  ok$//; p }' "$file" | while read -r phase; do
    grep -qFx "$phase" <<<"$phases" || { echo "$file: there is no phase $phase: run docs/screens/make-init" >&2 && exit 1; }
  done
done
