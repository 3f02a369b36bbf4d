#!/usr/bin/env bash
# docs/screens shows what gpuadm shows.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$top/docs/screens/make" "$place"
diff -r --exclude=make "$top/docs/screens" "$place" | head -n 40
diff -rq --exclude=make "$top/docs/screens" "$place" >/dev/null || {
  echo 'docs/screens is not what gpuadm shows: run docs/screens/make' >&2
  exit 1
}
