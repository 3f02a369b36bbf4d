#!/usr/bin/env bash
# No folder of code holds more than 40 files.
set -euo pipefail
cd "$(dirname "$0")/../.."
crowded=$(git ls-files -co --exclude-standard include src | while read -r file; do [ -f "$file" ] && dirname "$file"; done | sort | uniq -c | awk '$1 > 40 { print $2 ": " $1 " files" }')
[ -z "$crowded" ] || { echo "$crowded"; exit 1; }
