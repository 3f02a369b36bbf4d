#!/usr/bin/env bash
# Every C++ file is formatted according to .clang-format. To format it: clang-format-19 -i FILE
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t files < <(git ls-files '*.cpp' '*.hpp')
[ ${#files[@]} -gt 0 ]
clang-format-19 --dry-run -Werror "${files[@]}"
