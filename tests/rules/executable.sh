#!/usr/bin/env bash
# What begins with #! outside of playbooks, whose scripts gpuadm sends, can be run, in the tree and in git; and every
# script that tests/run runs begins so.
set -euo pipefail
cd "$(dirname "$0")/../.."
failed=0
while IFS=' ' read -r mode _ _ file; do
  [ -e "$file" ] || continue
  begin=$(head -c 2 "$file" | tr -d '\0')
  case $file in
    playbooks/*) continue ;;
    tests/layers.sh | tests/rules/*.sh | tests/cli/*.sh | tests/hostile/*.sh | tests/e2e/*.sh)
      [ "$begin" = '#!' ] || { echo "$file: does not begin with #!" >&2 && failed=1; } ;;
  esac
  if [ "$begin" = '#!' ] && { [ ! -x "$file" ] || [ "$mode" != 100755 ]; }; then
    echo "$file: cannot be run; chmod +x $file && git add $file" >&2 && failed=1
  fi
done < <(git ls-files -s | tr '\t' ' ')
[ "$failed" = 0 ]
