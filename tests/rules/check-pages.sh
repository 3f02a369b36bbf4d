#!/usr/bin/env bash
# docs/checks has a page for every check, and says what gpuadm says.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$top/docs/checks/make" "$place"
diff -r --exclude=not-implemented.md --exclude=make "$top/docs/checks" "$place" | head -n 40
diff -rq --exclude=not-implemented.md --exclude=make "$top/docs/checks" "$place" >/dev/null || {
  echo 'docs/checks is not what gpuadm says: run docs/checks/make' >&2
  exit 1
}
