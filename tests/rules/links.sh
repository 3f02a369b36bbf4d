#!/usr/bin/env bash
# Every relative link in a Markdown file leads to something in the tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0 read=0
while IFS=: read -r file line link; do
  read=$((read + 1))
  target=$(dirname "$file")/${link%%#*}
  [ -e "$target" ] || { echo "$file:$line: $link does not exist" && bad=1; }
done < <(git ls-files '*.md' | xargs grep -noE '\]\([^) ]+\)' /dev/null | sed -E 's/\]\((.*)\)$/\1/' | grep -vE ':(https?|mailto):|:#')
[ "$read" -gt 100 ] || { echo "only $read links found" && exit 1; }
exit $bad
