#!/usr/bin/env bash
# On a host with a GPU the NVIDIA Container Toolkit is asked for, used where it is, and the GPUs are described to runtimes
# (CDI), now and after a boot; undo takes it back. nvidia-smi and nvidia-ctk are doubles (tests/lab/gpu-double): no
# package archive within reach has the toolkit, and the lab has no GPU.
. "$(dirname "$0")/common"

a_host node --gpu h200
snapshot() { lab snapshot node | sed -E 's/ActiveEnterTimestampMonotonic=[0-9]+//' | sort; }
exits 3 init --phases gpu/toolkit,gpu/cdi -y
complains "nct.installed: the NVIDIA Container Toolkit is not installed, and the bundle does not contain it"
complains "nothing was changed"

on node 'cat >/usr/local/bin/nvidia-ctk && chmod 0755 /usr/local/bin/nvidia-ctk' <"$top/tests/lab/gpu-double/nvidia-ctk"
on node rm -rf /var/lib/gpuadm
snapshot >before
exits 0 init --phases gpu/toolkit,gpu/cdi -y
on node grep -q 'kind: nvidia.com/gpu' /run/cdi/nvidia.yaml || fail "the GPUs are not described"
on node systemctl is-enabled --quiet gpuadm-cdi.path gpuadm-cdi.service || fail "not after a boot"
on node systemctl is-active --quiet gpuadm-cdi.path || fail "nobody watches the modules"
exits 0 init --phases gpu/toolkit,gpu/cdi -y
says "nothing to do"

# Another driver: the description is old, and is made again.
on node "sed -i 's/libcuda.so.[0-9.]*/libcuda.so.1.2.3/g' /run/cdi/nvidia.yaml"
exits 0 init --phases gpu/cdi -y
on node '[ -s /run/cdi/nvidia.yaml ] && ! grep -q libcuda.so.1.2.3 /run/cdi/nvidia.yaml' || fail "the description is old"

exits 0 gpuadm undo -f cluster.yaml --all -y
on node '[ ! -e /run/cdi/nvidia.yaml ]' || fail "the description is left"
snapshot >after
diff before after || fail "undo left something"
