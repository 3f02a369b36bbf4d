#!/usr/bin/env bash
# Reads the `layers` and `addresses` blocks of docs/architecture.md and checks every #include
# in include/ and src/ against them. `tests/layers.sh [TREE]`
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
mapfile -t sources < <(find include src -name '*.hpp' -o -name '*.cpp' | sort)
[ ${#sources[@]} -gt 0 ] || { echo "there are no sources in include/ and src/" && exit 1; }
for block in layers addresses; do grep -qx "\`\`\`$block" docs/architecture.md || { echo "docs/architecture.md has no block $block" && exit 1; }; done

awk '
function fault(text) { print FILENAME ":" FNR ": " text; faults++ }
FNR == 1 { block = ""; layer = FILENAME; sub(/^(include\/gpuadm|src)\//, "", layer); sub(/\/.*/, "", layer) }

FILENAME == "docs/architecture.md" {
  if (/^```/) { block = block == "" ? substr($0, 4) : ""; next }
  if (block != "layers" && block != "addresses") next
  name = $1; sub(/:$/, "", name)
  if (block == "layers") known[name] = 1
  for (i = 2; i <= NF; i++) {
    if (!($i in known)) fault(name " depends on " $i ", which is not a layer below it")
    if (block == "layers") may[name, $i] = 1; else { address[name]; used_in[name, $i] = 1 }
  }
  next
}

FNR == 1 && !(layer in known) { fault("the layer " layer " has no line in docs/architecture.md") }
!/^[ \t]*#[ \t]*include/ { next }
{
  what = $0; sub(/^[^<"]*/, "", what); ours = what ~ /^"/; what = substr(what, 2); sub(/[>"].*/, "", what)
  top = what; sub(/^gpuadm\//, "", top); public = top != what; sub(/[\/.].*/, "", top)
  if (ours && public && top != layer && !((layer, top) in may)) fault(layer " may not include " top)
  if (ours && !public && (top != layer || FILENAME ~ /^include\//)) fault(layer " may not include the private " what)
  if (!ours && (top in address) && (FILENAME !~ /^src\// || !((top, layer) in used_in))) fault(top " may not be used in " layer)
}
END { exit faults > 0 }
' docs/architecture.md "${sources[@]}"
