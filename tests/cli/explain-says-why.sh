#!/usr/bin/env bash
# What a check is about, in three forms; a typo names the nearest.
. "$(dirname "$0")/common"

exits 0 gpuadm explain host.cpu.count
says "Why"
[ "$(wc -l <out)" -ge 3 ]
exits 2 gpuadm explain host.cpu.conut
complains "host.cpu.count"
exits 0 gpuadm explain host.ssh.reachable
says "host.ssh.reachable"
exits 0 gpuadm explain gpu. -o json
jq -e 'map(select(.id == "gpu.driver.smi-runs" and (.causedBy | index("gpu.driver.installed")))) | length == 1' out
exits 0 gpuadm explain gpu.driver.installed -o markdown
says "# gpu.driver.installed"
exits 0 gpuadm explain gpu.health.xid-fatal -o markdown
says "(gpu.md#gpu.health.fell-off-bus)"
exits 0 gpuadm explain gpu.pci.bar-size
says "  Source"
exits 0 gpuadm explain gpu.pci.bar-size -o json
jq -e '.[0].source | length > 0 and all(startswith("https://"))' out
exits 0 gpuadm explain gpu.pci.bar-size -o markdown
says "- <https://"
# Also those of training jobs, which the doctor does not run.
exits 0 gpuadm explain train.gpus-free
says "gpuadm train stop NAME"
exits 2 gpuadm explain train.gpu-free
complains "did you mean train.gpus-free"
exits 2 gpuadm doctor --only train.gpus-free
# A word of an id is enough for a suggestion.
exits 2 gpuadm explain swap-on
complains "did you mean host.disk.swap-on"
exits 2 gpuadm explain xyzzy
complains "gpuadm doctor --list"

# A group is a list, with a line for each check; with -v it is all of their texts.
exits 0 gpuadm explain gpu.driver
[ "$(wc -l <out)" -le 40 ] || fail "a group has more than 40 rows"
grep -qE '^gpu.driver.smi-runs +nvidia-smi works' out || fail "no line for a check"
says 'gpuadm explain ID'
hides '^  Symptom'
exits 0 gpuadm explain gpu.driver -v
says '  Symptom'
