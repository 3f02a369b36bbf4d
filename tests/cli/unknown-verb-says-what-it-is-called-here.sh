#!/usr/bin/env bash
# A word of other tools is answered with gpuadm's own.
. "$(dirname "$0")/common"

exits 2 gpuadm plan
complains "gpuadm init --dry-run"
exits 2 gpuadm uninstall
complains "gpuadm reset"
exits 2 gpuadm doctor --only gpu.helth --from "$top/data/recordings/gpu-machine"
complains "did you mean gpu.health?"
exits 2 gpuadm config explain podCDIR
complains "did you mean network.podCIDR?"
exits 2 gpuadm apply -f nope/none.yaml
complains "create one with gpuadm config init"
