#!/usr/bin/env bash
# tests/layers.sh reports violations.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{docs,src/base,src/run,include/gpuadm/base}
cp "$top/docs/architecture.md" "$tree/docs/"
printf '#include "gpuadm/base/text.hpp"\n#include <yaml-cpp/yaml.h>\n' >"$tree/src/base/good.cpp"
"$top/tests/layers.sh" "$tree"

printf '\n#include "gpuadm/run/run.hpp"\n#include "run/journal.hpp"\n' >"$tree/src/base/bad.cpp"
printf '#include <CLI/CLI.hpp>\n' >"$tree/src/run/bad.cpp"
printf '#include <yaml-cpp/yaml.h>\n' >"$tree/include/gpuadm/base/bad.hpp"
mkdir "$tree/src/aside" && touch "$tree/src/aside/empty.cpp" && echo >"$tree/src/aside/file.cpp"
said=$("$top/tests/layers.sh" "$tree") && { echo "violations passed"; exit 1; }
diff - <(echo "$said") <<'END'
include/gpuadm/base/bad.hpp:1: yaml-cpp may not be used in base
src/aside/file.cpp:1: the layer aside has no line in docs/architecture.md
src/base/bad.cpp:2: base may not include run
src/base/bad.cpp:3: base may not include the private run/journal.hpp
src/run/bad.cpp:1: CLI may not be used in run
END
