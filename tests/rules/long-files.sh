#!/usr/bin/env bash
# The files of code over 300 lines are those that docs/decisions/0022-*.md lists with a reason.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t files < <(git ls-files -co --exclude-standard '*.cpp' '*.hpp' | grep -E '^(include|src)/' | while read -r file; do [ ! -f "$file" ] || echo "$file"; done)
[ "${#files[@]}" -gt 500 ] || { echo "only ${#files[@]} files of code found" >&2 && exit 1; }
long=$(wc -l "${files[@]}" | awk '$1 > 300 && $2 != "total" { print $2 }' | sort)
# shellcheck disable=SC2016 # the backquotes of Markdown
listed=$(sed -nE 's/^\| `((src|include)\/[^`]+)` \| .+ \|$/\1/p' docs/decisions/0022-*.md | sort)
diff <(echo "$listed") <(echo "$long") || { echo "< is listed in docs/decisions/0022 and not longer than 300 lines; > is longer and not listed: split it, or give a reason" >&2 && exit 1; }
