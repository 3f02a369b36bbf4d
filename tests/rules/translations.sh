#!/usr/bin/env bash
# A translation has the same headings as its original, level by level, and the same commands and files, except for comments.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Headings' levels and what is indented, in order.
skeleton() { sed -nE '/^    /{s/ +#.*//;p}; s/^(#+) .*/\1/p' "$1"; }
bad=0 read=0
while read -r translation; do
  read=$((read + 1))
  [ -n "$(skeleton "$translation")" ] || { echo "$translation has no headings" && bad=1; }
  original=${translation%.zh-CN.md}.md
  difference=$(diff <(skeleton "$original") <(skeleton "$translation")) && continue
  echo "$translation is not in step with $original:"
  echo "$difference"
  bad=1
done < <(git ls-files '*.zh-CN.md')
[ "$read" -gt 0 ] || { echo "there is no translation" && exit 1; }
exit $bad
