#!/usr/bin/env bash
# The probe names the folders below which NVIDIA's DRA driver finds the GPU driver, as that driver's own script looks for it.
. "$(dirname "$0")/common"

# make ROOT FILE…: a tree with these files.
make() {
  root=$1
  shift
  for file in "$@"; do
    mkdir -p "$root/$(dirname "$file")"
    printf '#!/bin/sh\n' >"$root/$file"
  done
}
here=$PWD
make "$here/whole" bin/nvidia-smi lib64/libnvidia-ml.so.580.1
ln -s libnvidia-ml.so.580.1 "$here/whole/lib64/libnvidia-ml.so.1"
make "$here/debian" usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1 usr/lib/nvidia/current/nvidia-smi
mkdir -p "$here/debian/usr/bin"
ln -s /usr/lib/nvidia/current/nvidia-smi "$here/debian/usr/bin/nvidia-smi"
ln -s /usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1 "$here/debian/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
make "$here/merged" usr/bin/nvidia-smi usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1
ln -s usr/bin "$here/merged/bin"
make "$here/half" usr/lib64/libnvidia-ml.so.1
make "$here/bad name" bin/nvidia-smi lib64/libnvidia-ml.so.1
mkdir -p "$here/loop/lib64"
ln -s libnvidia-ml.so.1 "$here/loop/lib64/libnvidia-ml.so.1"

# roots ROOT…: what the probe says of them, the PATH's nvidia-smi being the one below "whole".
roots() {
  {
    cat "$top/playbooks/frame.sh"
    sed -n '/^is_file_inside() {/,/^}/p; /^driver_roots() {/,/^}/p' "$top/playbooks/probe.sh" | sed "s|for root in / .* \"\$found\"|for root in $* \"\$found\"|"
    echo driver_roots
  } >probe
  PATH=$path:$PATH sh probe | grep '^| '
}
path=/nonexistent
[ "$(roots "$here/whole")" = "| $here/whole bin/nvidia-smi lib64/libnvidia-ml.so.1" ] || fail "a whole root is not named: $(roots "$here/whole")"
[ "$(roots "$here/merged")" = "| $here/merged usr/bin/nvidia-smi usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1" ] || fail "a root with bin as a link: $(roots "$here/merged")"
[ "$(roots "$here/half")" = "| $here/half - usr/lib64/libnvidia-ml.so.1" ] || fail "a root with the library alone: $(roots "$here/half")"
mkdir "$here/whole/dev"
[ "$(roots "$here/whole")" = "| $here/whole bin/nvidia-smi lib64/libnvidia-ml.so.1 no-devices" ] || fail "a folder dev without devices: $(roots "$here/whole")"
: >"$here/whole/dev/nvidiactl"
[ "$(roots "$here/whole")" = "| $here/whole bin/nvidia-smi lib64/libnvidia-ml.so.1" ] || fail "a folder dev with devices: $(roots "$here/whole")"
[ -z "$(roots "$here/debian")" ] || fail "links that point out of the root are taken for files: $(roots "$here/debian")"
[ -z "$(roots "$here/loop")" ] || fail "a link to itself is taken for a file"
[ -z "$(roots "'$here/bad name'")" ] || fail "a root that no manifest should hold is named"
# Where the PATH leads to it, an unusual root is found.
path=$here/whole/bin
chmod +x "$here/whole/bin/nvidia-smi"
[ "$(roots /nonexistent)" = "| $here/whole bin/nvidia-smi lib64/libnvidia-ml.so.1" ] || fail "the root of the PATH's nvidia-smi is not found: $(roots /nonexistent)"
