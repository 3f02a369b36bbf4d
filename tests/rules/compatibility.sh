#!/usr/bin/env bash
# docs/compatibility.md is what docs/make-compatibility prints from the data. tests/rules/compatibility.sh [TREE]
set -euo pipefail
rules=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
top=${1:-$rules/../..}
page=$(mktemp)
trap 'rm -f "$page"' EXIT
"$rules/../../docs/make-compatibility" "$top" >"$page"
for cell in '[*][*]ran here on 20' 'documented by [[]' 'unknown'; do
  grep -q "^|.*| $cell" "$page" || { echo "docs/make-compatibility prints no cell \"$cell\"" && exit 1; }
done
diff "$top/docs/compatibility.md" "$page" | head -n 40 || :
cmp -s "$top/docs/compatibility.md" "$page" || { echo 'docs/compatibility.md is not what the data say: docs/make-compatibility >docs/compatibility.md' && exit 1; }
