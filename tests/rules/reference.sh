#!/usr/bin/env bash
# docs/reference has what gpuadm says of itself.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$top/docs/reference/make" "$place"
for file in cli.md cluster.schema.json; do
  diff "$top/docs/reference/$file" "$place/$file" | head -n 40
  cmp -s "$top/docs/reference/$file" "$place/$file" || {
    echo "docs/reference/$file is not what gpuadm says: run docs/reference/make" >&2
    exit 1
  }
done
