#!/usr/bin/env bash
# Programs for hosts are assets: src/ contains no shell text except in transport, which starts shells, and run, which calls the functions of
# playbooks. shellcheck reads assets, not strings.
set -euo pipefail
cd "${1:-$(dirname "$0")/../..}"
[ -n "$(find src -name '*.cpp')" ] || { echo "there are no sources in src/" && exit 1; }
found=$(grep -rnE "\.script = *(R?\"|fmt::format|std::string\()" src --include="*.cpp" --include="*.hpp" | grep -vE "^src/(transport|run)/" || :)
[ -z "$found" ] || { printf 'shell text in C++: make it an asset below playbooks/\n%s\n' "$found"; exit 1; }
