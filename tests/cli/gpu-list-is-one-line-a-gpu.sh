#!/usr/bin/env bash
# gpuadm gpu list prints a line for each GPU of a recording, and says why a pod cannot have one.
. "$(dirname "$0")/common"

exits 0 gpuadm gpu list --from "$top/data/recordings/gpu-machine"
says "NODE"
grep -q '0000:.*NVIDIA H200 .*GPU-.*exclusive.*' out || fail "the GPU has no line"
[ "$(grep -c 'NVIDIA H200' out)" = 1 ] || fail "one GPU, and not one line"
exits 0 gpuadm gpu list --from "$top/tests/recordings/h200x4" -o json
jq -e '.gpus | length == 4' out >/dev/null || fail "not four GPUs"
jq -e '.gpus | all(.why != "" and .allocatable != true and .slot != "" and .uuid != "")' out >/dev/null || fail "a GPU that nobody was asked about is said to be free"
jq -e '.hosts[0] | .pci == 4 and .driver == 4' out >/dev/null || fail "the counts are wrong"

# A GPU that the driver has lost has a line as well, and the counts differ.
cp -r "$top/tests/recordings/h200x4" lost
probe=$(echo lost/hosts/*/probe.txt)
slot=$(grep -oE '^\| 0000:[0-9a-f:.]+ class=030200' "$probe" | head -n 1 | cut -d' ' -f2)
printf '%s\n' "=== pci" "| 0000:ff:00.0 class=030200 vendor=10de device=2335 subsystem=10de:18be driver=nvidia numa=0" >"more"
sed -i "/^=== pci$/r more" "$probe"
sed -i '0,/^=== pci$/{/^=== pci$/d}' "$probe"
exits 0 gpuadm gpu list --from lost
says "0000:ff:00.0"
says "the driver does not list it"
says "5 on the PCI bus, 4 by the driver"
[ -n "$slot" ]

exits 2 gpuadm gpu list --from lost somehost
exits 2 gpuadm gpu
exits 2 gpuadm gpu share nowhere 1
complains "invalid sharing: '1'"
exits 2 gpuadm gpu share nowhere mps:x
exits 2 gpuadm gpu mig nowhere 1g.5gb,big
complains "invalid MIG profile: 'big'"
printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: gpu1, address: 127.0.0.1 }]\n' >cluster.yaml
exits 2 gpuadm gpu share gpu2 4 -f cluster.yaml
complains "cluster.yaml has no host named gpu2"

# gpuadm status writes GPUs with the same keys.
exits 0 gpuadm gpu list --from "$top/tests/recordings/h200-node" -o json
jq -e '.gpus[0] | keys' out >list-keys || fail "there is no GPU"
gpuadm status --from "$top/tests/recordings/h200-node" -o json >out 2>err || [ $? = 1 ] || fail "status judges nothing"
jq -e '.gpus[0] | keys' out | diff list-keys - || fail "status and gpu list write different keys"
