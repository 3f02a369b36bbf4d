#!/usr/bin/env bash
# Every C++ file is laid out as .clang-format says. To lay it out: clang-format-19 -i FILE
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t files < <(git ls-files '*.cpp' '*.hpp')
[ ${#files[@]} -gt 0 ]
clang-format-19 --dry-run -Werror "${files[@]}"
