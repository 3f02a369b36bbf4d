#!/usr/bin/env bash
# What was recorded on nodes with an H200, an H100 and two H200s on which every link of the chain held (docs/gpu-proof.md): there are no
# findings about the GPU stack, and their GPUs are listed as allocatable.
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

# Two H200s with NVIDIA's DRA driver and Kubernetes 1.36. The disk of that machine is slow for etcd.
node=$top/tests/recordings/h200x2-dra-node
for stage in node cluster; do
  exits 0 gpuadm doctor --from "$node" --stage "$stage" -o json
  jq -r '.findings[] | select(.result != "pass" and .result != "skip" and .severity != "note") | .id | select(test("^(gpu|gk|nct)[.]"))' out >open
  diff /dev/null open
done
exits 0 gpuadm gpu list --from "$node"
[ "$(grep -cE 'NVIDIA H200 .* exclusive +ok +nobody +yes$' out)" = 2 ] || fail "with claims, two GPUs are not allocatable"
