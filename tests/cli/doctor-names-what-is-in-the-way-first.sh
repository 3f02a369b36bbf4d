#!/usr/bin/env bash
# The first line of doctor: a host without systemd, a host without an NVIDIA GPU; and "next:" is what fixes the first broken link.
. "$(dirname "$0")/common"

cp -r "$top/data/recordings/machine" other
probe=other/hosts/host1/probe.txt
sed -i -e '/^=== \/proc\/1\/comm$/{n;s/.*/| init/}' -e '/^=== units$/,/^=== iptables$/{/^=== iptables$/!d}' "$probe"
exits 3 gpuadm doctor --from other
head -n 1 out | grep -q '^First broken link: systemd is not process 1' || fail "another first line"
exits 3 gpuadm doctor --from other -o json
jq -e '.first.id == "host.init.systemd"' out >/dev/null || fail "another first broken link"

# No GPU: where it was searched, a blocker if a driver is to be installed, and nothing if the cluster is to have none.
cp -r "$top/data/recordings/machine" bare
sed -i '/^gpu:/d' bare/cluster.yaml
exits 0 gpuadm doctor --from bare
head -n 1 out | grep -q '^Warning: the host has no NVIDIA GPU (gpu.pci.present)' || fail "another first line"
for place in 'PCI bus: no device of vendor 10de' 'passed through: ' 'WSL: no /dev/dxg' 'Jetson: no /etc/nv_tegra_release'; do says "$place"; done
printf 'gpu: { driver: install }\n' >>bare/cluster.yaml
exits 3 gpuadm doctor --from bare
head -n 1 out | grep -q '^First broken link: the host has no NVIDIA GPU' || fail "another first line"
exits 0 gpuadm doctor --from "$top/data/recordings/machine"
hides 'NVIDIA GPU ('
