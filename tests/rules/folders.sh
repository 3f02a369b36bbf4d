#!/usr/bin/env bash
# No folder of code holds more than 30 files.
set -euo pipefail
cd "$(dirname "$0")/../.."
folders=$(git ls-files -co --exclude-standard include src | while read -r file; do [ ! -f "$file" ] || dirname "$file"; done | sort | uniq -c)
[ -n "$folders" ] || { echo "there is no folder of code" && exit 1; }
crowded=$(awk '$1 > 30 { print $2 ": " $1 " files" }' <<<"$folders")
[ -z "$crowded" ] || { echo "$crowded"; exit 1; }
