#!/usr/bin/env bash
# docs/reference has the list of commands and the schema that gpuadm prints.
#   tests/rules/reference.sh [TREE]
set -euo pipefail
rules=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
top=${1:-$rules/../..}
export GPUADM=${GPUADM:-$(readlink -f "$rules/../..")/build/gpuadm}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$top/docs/reference/make" "$place"
[ "$(grep -c '^| <a id' "$place/commands.md")" -gt 80 ] || { echo 'docs/reference/make lists fewer than 80 commands' && exit 1; }
for file in commands.md cluster.schema.json; do
  diff "$top/docs/reference/$file" "$place/$file" | head -n 40 || :
  cmp -s "$top/docs/reference/$file" "$place/$file" || {
    echo "docs/reference/$file is not what gpuadm prints: run docs/reference/make" >&2
    exit 1
  }
done
