#!/usr/bin/env bash
# docs/doctor-faults.md is what the lists of faults and the doctor say, and every fault is named.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$top/tests/faults/page" >"$page"
diff "$top/docs/doctor-faults.md" "$page" | head -n 40 || :
cmp -s "$top/docs/doctor-faults.md" "$page" || {
  echo 'docs/doctor-faults.md is not what the doctor says: tests/faults/page >docs/doctor-faults.md' >&2
  exit 1
}
if grep -nE '\| no(: .*)? \|$' "$page"; then exit 1; fi
