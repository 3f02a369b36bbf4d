#!/usr/bin/env bash
# --demo lists the faults that gpuadm has recordings of, and judges one as if it were a host.
. "$(dirname "$0")/common"

exits 0 gpuadm doctor --demo
says "gpu-fell-off-the-bus"
exits 0 gpuadm doctor --demo -o json
jq -e 'length > 70 and all(.[]; .name and .title and .leads and .machine and .stage)' out
exits 3 gpuadm doctor --demo gpu-fell-off-the-bus
head -n 1 out | grep -q '^First broken link: .* (gpu.health.fell-off-bus); [0-9]* findings follow from it\(; [0-9]* checks are unknown\)*$' || fail "the first line"
hides $'\033'
exits 3 gpuadm doctor --demo gpu-fell-off-the-bus -o json
jq -e '.first.id == "gpu.health.fell-off-bus" and (.first.follow | index("gpu.driver.smi-runs"))' out
exits 3 gpuadm doctor --demo gpu-fell-off-the-bus -o html
says '<p class="short">First broken link: '
exits 3 gpuadm doctor --demo one-of-two --fail-on warning
head -n 1 out | grep -q ' (net.default-route) on host2\(; .* unknown\)*$' || fail "the host is not named"
exits 2 gpuadm doctor --demo gpu-fell-of-the-bus
complains "did you mean gpu-fell-off-the-bus?"
exits 2 gpuadm doctor --demo gpu-fell-off-the-bus somehost
