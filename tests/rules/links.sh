#!/usr/bin/env bash
# Every relative link in a Markdown file leads to something in the tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0
while IFS=: read -r file line link; do
  target=$(dirname "$file")/${link%%#*}
  [ -e "$target" ] || { echo "$file:$line: $link does not exist" && bad=1; }
done < <(git ls-files '*.md' | xargs grep -noE '\]\([^) ]+\)' /dev/null | sed -E 's/\]\((.*)\)$/\1/' | grep -vE ':(https?|mailto):|:#')
exit $bad
