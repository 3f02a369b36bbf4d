#!/usr/bin/env bash
# What was recorded on nodes with an H200, an H100 and two H200s on which every link of the chain held (docs/gpu-proof.md): nothing of the
# GPU stack stands out, and their GPUs are listed as allocatable.
. "$(dirname "$0")/common"

for name in "h200-node 1 NVIDIA H200" "h100-node 1 NVIDIA H100 80GB HBM3" "h200x2-node 2 NVIDIA H200"; do
  read -r recording count model <<<"$name"
  node=$top/tests/recordings/$recording
  exits 0 gpuadm doctor --from "$node" --stage node -o json
  jq -r '.findings[] | select(.result != "pass" and .result != "skip" and .severity != "note") | .id' out >open
  # The machine is on no network, and asks nobody for names.
  diff - open <<<'net.resolv-conf-valid'
  exits 0 gpuadm doctor --from "$node" --stage cluster -o json
  jq -r '.findings[] | select(.id | startswith("gk.")) | select(.result != "pass" and .result != "skip") | .id' out >open
  diff /dev/null open
  exits 0 gpuadm gpu list --from "$node" -o json
  says "$model"
  exits 0 gpuadm gpu list --from "$node"
  [ "$(grep -cE "$model .* exclusive +ok +nobody +yes\$" out)" = "$count" ] || fail "$recording: $count GPUs are not allocatable"
done
