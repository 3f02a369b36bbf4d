#!/usr/bin/env bash
# --list shows ids and titles, connects to nothing, and obeys --only.
. "$(dirname "$0")/common"

exits 0 gpuadm doctor --list
says "host.cpu.count"
exits 0 gpuadm doctor --list --only gpu -o json
jq -e 'length > 0 and all(.[]; .id | startswith("gpu."))' out
exits 2 gpuadm doctor --only host.cpu.cuont
complains "did you mean host.cpu.count?"
