#!/usr/bin/env bash
# What was recorded on a node with an H200 on which every link of the chain held (docs/gpu-proof.md): nothing of the GPU stack stands out,
# and its GPU is listed as allocatable.
. "$(dirname "$0")/common"

node=$top/tests/recordings/h200-node
exits 0 gpuadm doctor --from "$node" --stage node -o json
jq -r '.findings[] | select(.result != "pass" and .result != "skip" and .severity != "note") | .id' out >open
# The machine is on no network, and asks nobody for names.
diff - open <<<'net.resolv-conf-valid'
exits 0 gpuadm doctor --from "$node" --stage cluster -o json
jq -r '.findings[] | select(.id | startswith("gk.")) | select(.result != "pass" and .result != "skip") | .id' out >open
diff /dev/null open
exits 0 gpuadm gpu list --from "$node" -o json
says "NVIDIA H200"
exits 0 gpuadm gpu list --from "$node"
grep -qE 'NVIDIA H200 .* exclusive +ok +nobody +yes$' out || fail "the GPU is not allocatable"
