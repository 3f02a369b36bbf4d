#!/usr/bin/env bash
# The layers of the house: reads the `layers` and `addresses` blocks of docs/architecture.md and holds every #include
# in include/ and src/ against them. `tests/layers.sh [TREE]`
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
mapfile -t sources < <(find include src -name '*.hpp' -o -name '*.cpp' | sort)

awk '
function fault(text) { print FILENAME ":" FNR ": " text; faults++ }
FNR == 1 { block = ""; room = FILENAME; sub(/^(include\/gpuadm|src)\//, "", room); sub(/\/.*/, "", room) }

FILENAME == "docs/architecture.md" {
  if (/^```/) { block = block == "" ? substr($0, 4) : ""; next }
  if (block != "layers" && block != "addresses") next
  name = $1; sub(/:$/, "", name)
  if (block == "layers") known[name] = 1
  for (i = 2; i <= NF; i++) {
    if (!($i in known)) fault(name " stands on " $i ", which is no room below it")
    if (block == "layers") may[name, $i] = 1; else { address[name]; lives[name, $i] = 1 }
  }
  next
}

FNR == 1 && !(room in known) { fault("the room " room " has no line in docs/architecture.md") }
!/^[ \t]*#[ \t]*include/ { next }
{
  what = $0; sub(/^[^<"]*/, "", what); ours = what ~ /^"/; what = substr(what, 2); sub(/[>"].*/, "", what)
  top = what; sub(/^gpuadm\//, "", top); door = top != what; sub(/[\/.].*/, "", top)
  if (ours && door && top != room && !((room, top) in may)) fault(room " may not include " top)
  if (ours && !door && (top != room || FILENAME ~ /^include\//)) fault(room " may not include the private " what)
  if (!ours && (top in address) && (FILENAME !~ /^src\// || !((top, room) in lives))) fault(top " does not live in " room)
}
END { exit faults > 0 }
' docs/architecture.md "${sources[@]}"
