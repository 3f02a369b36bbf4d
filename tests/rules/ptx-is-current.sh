#!/usr/bin/env bash
# proof/*.ptx were made from the kernels next to them; if this machine has nvcc, it compiles them for the oldest and
# the newest GPUs that it knows.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
sum=$(cat "$top/proof/kernels.cu" "$top/proof/pattern.hpp" | sha256sum | cut -d' ' -f1)
for file in "$top"/proof/{kernels,tensor}.ptx; do
  grep -q "^// .* $sum\$" "$file" || { echo "$file is older than its kernels: run proof/make-ptx" && exit 1; }
done
nvcc=$(command -v nvcc || true)
[ -n "$nvcc" ] || { echo "skip: nvcc is not installed" && exit 77; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$top/proof/make-ptx" "$place"
for arch in $("$nvcc" --list-gpu-code | grep -E '^sm_[0-9]+$' | sed -n '1p;$p'); do
  for file in "$top"/proof/{kernels,tensor}.ptx "$place"/{kernels,tensor}.ptx; do
    ptxas -arch="$arch" "$file" -o "$place/cubin"
  done
done
