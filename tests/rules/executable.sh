#!/usr/bin/env bash
# Files that begin with #! are executable, in the tree and in git, except playbooks, whose scripts gpuadm sends; and every
# script that tests/run runs begins so.
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
git grep -lzI '^#!' | xargs -0 awk 'FNR == 1 { if (/^#!/) print FILENAME; nextfile }' | sort >"$scratch/scripts"
[ "$(wc -l <"$scratch/scripts")" -gt 100 ] || { echo "only $(wc -l <"$scratch/scripts") scripts found" >&2 && exit 1; }
git ls-files -s | awk '$1 == "100755" { sub(/^[^\t]*\t/, ""); print }' | sort >"$scratch/executable"
failed=0
while read -r file; do
  [ ! -e "$file" ] || { echo "$file: does not begin with #!" >&2 && failed=1; }
done < <(git ls-files tests/layers.sh 'tests/rules/*.sh' 'tests/cli/*.sh' 'tests/hostile/*.sh' 'tests/e2e/*.sh' | sort | comm -23 - "$scratch/scripts")
while read -r file; do
  { [ -x "$file" ] && grep -qxF "$file" "$scratch/executable"; } || { echo "$file: is not executable; chmod +x $file && git add $file" >&2 && failed=1; }
done < <(grep -v '^playbooks/' "$scratch/scripts")
[ "$failed" = 0 ]
