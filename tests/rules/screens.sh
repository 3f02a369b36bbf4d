#!/usr/bin/env bash
# docs/screens shows what gpuadm shows. Those of init are from runs on real hosts: their phases are the ones that there are.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$top/docs/screens/make" "$place"
diff -r --exclude='make*' --exclude='init-*' "$top/docs/screens" "$place" | head -n 40 || :
diff -rq --exclude='make*' --exclude='init-*' "$top/docs/screens" "$place" >/dev/null || {
  echo 'docs/screens is not what gpuadm shows: run docs/screens/make' >&2
  exit 1
}

phases=$("${GPUADM:-$top/build/gpuadm}" init --list-phases | sed -E 's/^([^ ]+) .*/\1/')
# A screen has 24 rows, one of which is the prompt; up to its question init has 22 at most.
for file in "$top"/docs/screens/doctor*-80.txt; do
  [ "$(wc -l <"$file")" -le 24 ] || { echo "$file: the report does not fit a screen of 24 rows" >&2 && exit 1; }
done
for file in "$top"/docs/screens/init-{80,200}.txt; do
  [ "$(sed -n '3,/^Continue?/p' "$file" | wc -l)" -le 22 ] || { echo "$file: more than 22 rows up to the question" >&2 && exit 1; }
  grep -qE '^1 host: [1-9][0-9]* changed' "$file" || { echo "$file: no run that came to its end: run docs/screens/make-init" >&2 && exit 1; }
  grep -qE '^  kube +[0-9]+ .*init' "$file" || { echo "$file: there is no plan: run docs/screens/make-init" >&2 && exit 1; }
  sed -nE 's/^  ([a-z]+) +[0-9]+  ([a-z, -]+)$/\1 \2/p' "$file" | while read -r group names; do
    for name in ${names//,/}; do
      grep -qFx "$group/$name" <<<"$phases" || { echo "$file: there is no phase $group/$name: run docs/screens/make-init" >&2 && exit 1; }
    done
  done
done
