#!/usr/bin/env bash
# With NVIDIA's DRA driver, gpuadm gpu quarantine writes a DeviceTaintRule that a real API server accepts and a real scheduler obeys: a claim
# gets the other GPU, one for the GPU in quarantine waits, and both the rule and the wait end with release. GPUs are doubles, and the
# ResourceSlice is written here in the place of NVIDIA's driver. Kubernetes before 1.36 has no such rules.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/kubernetes.sh
. "$top/tests/lib/kubernetes.sh"

[[ "$(lab version)" =~ ^1\.(3[6-9]|[4-9])\. ]] || { echo "skip: DeviceTaintRules need Kubernetes 1.36 (GPUADM_LAB_BUNDLE)" && exit 77; }

a_host node --gpu h200x2
# `lab patches` ends the cluster file.
sed -i "s/^patches:/gpu: { allocator: dra }\nfeatureGates: { DRADeviceTaintRules: true }\n&/" cluster.yaml
echo '  clusterConfiguration: { apiServer: { extraArgs: { runtime-config: resource.k8s.io/v1beta2=true } } }' >>cluster.yaml
# The double has no files of a driver.
exits 0 init -y --ignore gpu.dra.driver-root --skip-phases gpu/toolkit,gpu/cdi,gpu/dra,gpu/offered

admin() { on node kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s "$@"; }
apply() { on node kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - >/dev/null; }
gpu() { gpuadm gpu "$1" "${@:2}" -f cluster.yaml; }
mapfile -t uuids < <(on node nvidia-smi --query-gpu=uuid --format=csv,noheader)
[ ${#uuids[@]} = 2 ] || fail "there are no two GPUs"
device() { # device INDEX: as NVIDIA's driver describes a GPU, as far as gpuadm reads it
  printf '    - { name: gpu-%s, attributes: { type: { string: gpu }, uuid: { string: "%s" } } }\n' "$1" "${uuids[$1]}"
}
apply <<END
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: { name: gpu.nvidia.com }
spec: { selectors: [{ cel: { expression: "device.driver == 'gpu.nvidia.com'" } }] }
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: { name: node-gpus }
spec:
  driver: gpu.nvidia.com
  nodeName: node
  pool: { name: node, generation: 1, resourceSliceCount: 1 }
  devices:
$(device 0)
$(device 1)
END
claim() { # claim NAME [UUID]: a pod with a claim for one GPU; the driver's part of the kubelet is missing, so it is scheduled but does not start
  local which=true
  [ $# = 1 ] || which="device.attributes['gpu.nvidia.com'].uuid == '$2'"
  apply <<END
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: { name: $1 }
spec:
  devices:
    requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          selectors: [{ cel: { expression: "$which" } }]
---
apiVersion: v1
kind: Pod
metadata: { name: $1 }
spec:
  terminationGracePeriodSeconds: 0
  resourceClaims: [{ name: gpu, resourceClaimName: $1 }]
  containers: [{ name: one, image: "lab.local/sleep:1", imagePullPolicy: Never, resources: { claims: [{ name: gpu }] } }]
END
}
allocated() { admin get resourceclaim "$1" -o "'jsonpath={.status.allocation.devices.results[*].device}'"; }
has() { [ "$(allocated "$1")" = "$2" ]; }
waits() { admin get events --field-selector "involvedObject.name=$1" 2>/dev/null | grep -q 'FailedScheduling'; }
rules=devicetaintrules.resource.k8s.io

if [[ "$(lab version)" =~ ^1\.36\.[0-2]$ ]]; then
  exits 3 gpu quarantine node 1 -y
  complains "the kube-scheduler of Kubernetes v$(lab version) ignores DeviceTaintRules"
  [ -z "$(admin get "$rules" -o name)" ] || fail "there is a rule"
  leaves_out "quarantine: this kube-scheduler ends with a panic while a DeviceTaintRule exists"
  exit 0
fi
exits 0 gpu quarantine node 1 -y --reason 'Xid 79'
rule=$(admin get "$rules" -o name)
[ "$rule" = "devicetaintrule.resource.k8s.io/gpuadm-quarantine-${uuids[1]#GPU-}" ] || fail "the rules are: $rule"
exits 0 gpu quarantine node 1 -y
says "nothing to do"
claim first
within 240 "a claim to get the other GPU" has first gpu-0
claim second "${uuids[1]}"
within 240 "the claim of the GPU in quarantine to be refused" waits second
[ -z "$(allocated second)" ] || fail "the claim got $(allocated second)"
exits 0 gpuadm doctor -f cluster.yaml --stage cluster --only gk.dra-quarantine --fail-on warning -v
says "pods do not get GPUs in quarantine"

exits 0 gpu release node 1 -y
[ -z "$(admin get "$rules" -o name)" ] || fail "the rule is left"
within 240 "the GPU to be offered again" has second gpu-1

# --evict: the pod that has the GPU is deleted.
exits 0 gpu quarantine node 1 -y --evict
gone() { admin get pods -o name >all_pods 2>err && lacks -F pod/second all_pods; }
within 240 "the pod with the GPU to be evicted" gone
exits 0 gpuadm reset -f cluster.yaml -y
absent node /etc/gpuadm || fail "reset left the list"
