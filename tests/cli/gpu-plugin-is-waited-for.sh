#!/usr/bin/env bash
# Whether GPUs of a node are ready after the device plugin was replaced, from what an API server says: the plugin's pod has the current template and
# is the only one, the node advertises GPUs times replicas, and a pod with a GPU has started since. kubectl is a double that prints rows;
# tests/e2e/gpu-is-shared-and-listed.sh has real ones.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
export step_files=gpu-offered
T=$'\t'
began=2026-11-29T07:00:10Z
export place gpu_nodes gpu_hosts=

# row WORD COLUMN...
row() { local IFS=$T && printf '%s\n' "$*"; }
daemonset() { row daemonset "$1" "${2:-1}" "${3:-1}"; } # NAME [GENERATION OBSERVED]
revision() { row revision "$1" "$2" "$3"; }               # DAEMONSET NUMBER HASH
# pod NAME DAEMONSET HASH [DELETED [READY [APP [STARTED]]]]
pod() { row pod "$1" "$2" gpu1 "$3" "${4:-}" "\"${5:-True}\"" "uid-$1" '"containerd://c0ffee"' "\"${7:-$began}\"" '"nvcr.io/plugin:v1"' nvidia "${6:-nvidia-device-plugin}"; }
node() { row node gpu1 '"True"' '"v1.36.2"/"containerd://2.1"/"b007"' "${2:+\"$2\"}" "$1" "${3:-$1}"; } # ALLOCATABLE [RECORD [CAPACITY]]
sliced=nvidia-device-plugin-time-slicing-4
rows() { printf '%s\n' "$@" >rows; }
judge() { in_step "$(printf 'offered_judge %s <"%s/rows"' "$1" "$place")"; }
unready() { # unready REASON: of the one node; empty: it is ready
  exits 0 judge unready
  if [ -z "$1" ]; then [ ! -s out ] || fail "it is unready: $(cat out)"; else says "$1"; fi
}

gpu_nodes='one gpu1 time-slicing-4 nvidia.com/gpu=4'
current=$(printf '%s\n' "$(daemonset $sliced)" "$(revision $sliced 1 aaa)" "$(pod new $sliced aaa)")
rows "$current" "$(node '"nvidia.com/gpu"="4" "cpu"="8"')"
unready ''
rows "$current" "$(node '"nvidia.com/gpu"="1"')"
unready 'gpu1: it advertises 1 of 4 nvidia.com/gpu'
rows "$current" "$(node '"nvidia.com/gpu"="0" "nvidia.com/gpu.shared"="4"')"
unready ''
# One of four is unhealthy; the old plugin has left, and its GPUs are remembered.
rows "$current" "$(node '"nvidia.com/gpu"="3"' '' '"nvidia.com/gpu"="4"')"
unready ''
rows "$current" "$(node '"nvidia.com/gpu"="0"' '' '"nvidia.com/gpu"="4"')"
unready 'gpu1: it advertises 0 of 4 nvidia.com/gpu'
rows "$current"
unready 'gpu1: the cluster has no such node'

# The old plugin: its pod, another template of the same DaemonSet, and a DaemonSet that the controller manager has not processed.
rows "$current" "$(pod old nvidia-device-plugin xxx)" "$(node '"nvidia.com/gpu"="4"')"
unready 'gpu1: the previous pod old has not ended yet'
rows "$current" "$(pod old $sliced aaa 2026-11-29T07:00:00Z)" "$(node '"nvidia.com/gpu"="4"')"
unready 'gpu1: the previous pod old has not ended yet'
rows "$current" "$(revision $sliced 12 bbb)" "$(node '"nvidia.com/gpu"="4"')"
unready "gpu1: the pod new has the previous template of $sliced"
rows "$(daemonset $sliced 2 1)" "$(revision $sliced 1 aaa)" "$(pod new $sliced aaa)" "$(node '"nvidia.com/gpu"="4"')"
unready "the DaemonSet $sliced has changed, and the controller manager has not processed that yet"
rows "$(daemonset $sliced)" "$(revision $sliced 1 aaa)" "$(node '"nvidia.com/gpu"="4"')"
unready "gpu1: there is no pod of $sliced yet"
rows "$(daemonset nvidia-device-plugin)" "$(node '"nvidia.com/gpu"="4"')"
unready "gpu1: the DaemonSet $sliced does not exist"
# Where gpuadm installed none, another plugin advertises the GPUs.
rows "$(node '"nvidia.com/gpu"="4"')"
unready ''
exits 0 judge unstarted
[ ! -s out ] || fail "a pod is to be started: $(cat out)"
rows "$(node '"nvidia.com/gpu"="0"')"
unready 'gpu1: it advertises 0 of 4 nvidia.com/gpu'
rows "$(daemonset $sliced)" "$(revision $sliced 1 aaa)" "$(pod new $sliced aaa '' False)" "$(node '"nvidia.com/gpu"="4"')"
unready 'gpu1: the pod new is not ready'

# MPS, with its daemon; without MPS none is left.
gpu_nodes='one gpu1 mps-2 nvidia.com/gpu=2'
mps=$(printf '%s\n' "$(daemonset nvidia-device-plugin-mps-2)" "$(revision nvidia-device-plugin-mps-2 1 m)" "$(pod plugin nvidia-device-plugin-mps-2 m)" "$(node '"nvidia.com/gpu"="2"')")
rows "$mps"
unready 'gpu1: the DaemonSet nvidia-mps-control-daemon-mps-2 does not exist'
daemon=$(printf '%s\n' "$(daemonset nvidia-mps-control-daemon-mps-2)" "$(revision nvidia-mps-control-daemon-mps-2 1 d)" "$(pod daemon nvidia-mps-control-daemon-mps-2 d '' True nvidia-mps-control-daemon)")
rows "$mps" "$daemon"
unready ''
gpu_nodes='one gpu1 time-slicing-4 nvidia.com/gpu=4'
rows "$current" "$daemon" "$(node '"nvidia.com/gpu"="4"')"
unready 'gpu1: the previous pod daemon has not ended yet'

# MIG instances of several profiles; a driver that lists no GPU; NVIDIA's DRA driver.
gpu_nodes='one gpu1 mig-mixed nvidia.com/mig-1g.18gb=8,nvidia.com/mig-3g.71gb=4'
mixed=$(printf '%s\n' "$(daemonset nvidia-device-plugin-mig-mixed)" "$(revision nvidia-device-plugin-mig-mixed 1 m)" "$(pod plugin nvidia-device-plugin-mig-mixed m)")
rows "$mixed" "$(node '"nvidia.com/mig-1g.18gb"="8"')"
unready 'gpu1: it advertises 0 of 4 nvidia.com/mig-3g.71gb'
rows "$mixed" "$(node '"nvidia.com/mig-1g.18gb"="8" "nvidia.com/mig-3g.71gb"="4"')"
unready ''
gpu_nodes='one gpu1 exclusive nvidia.com/gpu=0'
rows "$(node '')"
unready 'nvidia-smi lists no GPU'
gpu_nodes='one gpu1 dra:root gpu.nvidia.com'
driver=$(printf '%s\n' "$(daemonset nvidia-dra-driver-root)" "$(revision nvidia-dra-driver-root 1 d)" "$(pod driver nvidia-dra-driver-root d '' True nvidia-dra-driver)" "$(node '')")
rows "$driver"
unready 'gpu1: the DRA driver has published no device of it'
rows "$driver" "$(row slice gpu1 2)"
unready ''

# Only the hosts that are asked for.
gpu_nodes=$'one gpu1 time-slicing-4 nvidia.com/gpu=4\ntwo gpu2 exclusive nvidia.com/gpu=1'
rows "$current" "$(node '"nvidia.com/gpu"="4"')"
unready 'gpu2: the cluster has no such node'
gpu_hosts=one
unready ''

# Once a pod has started with this pod of the plugin, no further one is created.
key=uid-new/containerd://c0ffee/v1.36.2/containerd://2.1/b007
exits 0 judge unstarted
says "gpu1 time-slicing-4 nvidia.com/gpu=4 $key $began nvcr.io/plugin:v1 nvidia no"
rows "$current" "$(node '"nvidia.com/gpu"="4"' "$key")"
exits 0 judge unstarted
[ ! -s out ] || fail "it is to be started again: $(cat out)"
rows "$current" "$(node '"nvidia.com/gpu"="4"' "${key/new/old}")"
exits 0 judge unstarted
says "gpu1 time-slicing-4"

# state EXPECTED ROW...: of pods with GPUs. of NAME PHASE REASON BEGAN STARTED REQUESTS WHY
state() {
  local expected=$1
  shift
  printf '%s\n' "$@" >rows
  exits 0 in_step "$(printf "offered_state kube-system/probe nvidia.com/gpu=2 $began <'%s/rows'" "$place")"
  [ "$(cat out)" = "$expected" ] || fail "not '$expected' but '$(cat out)'"
}
of() { row pod "$1" "\"$2\"" "${3:+\"$3\"}" '' "${4:+\"$4\"}" "${5:+\"$5\" }" "$6" "${7:+\"$7\" }"; }
gpu='nvidia.com/gpu=1 '
state absent "$(of user/a Running '' 2026-11-29T06:00:00Z 2026-11-29T06:00:05Z "$gpu")"
# A container that starts again in a pod from before shows nothing.
state absent "$(of user/a Running '' 2026-11-29T06:00:00Z 2026-11-29T07:01:00Z "$gpu")"
state started "$(of user/a Running '' 2026-11-29T07:00:20Z 2026-11-29T07:00:25Z "$gpu")"
state absent "$(of user/a Running '' 2026-11-29T07:00:20Z 2026-11-29T07:00:25Z 'cpu=1 ')"
state started "$(of kube-system/probe Succeeded '' 2026-11-29T07:00:20Z 2026-11-29T07:00:25Z "$gpu")"
state 'waits ContainerCreating' "$(of kube-system/probe Pending '' 2026-11-29T07:00:20Z '' "$gpu" ContainerCreating)"
state 'refused UnexpectedAdmissionError: Pod Allocate failed due to no healthy devices present' \
  "$(of kube-system/probe Failed UnexpectedAdmissionError 2026-11-29T07:00:20Z '' "$gpu" 'Pod Allocate failed due to no healthy devices present')"
state 'failed StartError failed to create the container' "$(of kube-system/probe Failed '' 2026-11-29T07:00:20Z '' "$gpu" 'StartError failed to create the container')"
# Others have all of them.
holder=$(of user/a Running '' 2026-11-29T06:00:00Z 2026-11-29T06:00:05Z 'nvidia.com/gpu=2 ')
state 'waits full 0/1 nodes are available' "$holder" "$(of kube-system/probe Pending '' '' '' "$gpu" '0/1 nodes are available')"
state 'waits 0/1 nodes are available' "${holder/Running/Succeeded}" "$(of kube-system/probe Pending '' '' '' "$gpu" '0/1 nodes are available')"

# The pod is JSON, and what a DaemonSet of another origin has in it does not become part of it.
exits 0 in_step 'offered_pod gpu1 time-slicing-4 nvidia.com/gpu=4 nvcr.io/plugin:v1@sha256:00 nvidia'
jq -e '.spec.containers[0].resources.limits == { "nvidia.com/gpu": "1" } and .spec.runtimeClassName == "nvidia" and .spec.containers[0].image == "nvcr.io/plugin:v1@sha256:00"' out >/dev/null ||
  fail "the pod is wrong"
exits 0 in_step 'offered_pod gpu1 dra:root gpu.nvidia.com registry.k8s.io/dra:v1 -'
jq -es 'length == 2 and .[0].kind == "ResourceClaim" and (.[1].spec | has("runtimeClassName") | not) and .[1].spec.containers[0].resources.claims[0].name == "gpu"' out >/dev/null ||
  fail "the pod with a claim is wrong"
exits 3 in_step 'offered_pod gpu1 exclusive nvidia.com/gpu=1 "a\"b" -'
complains "unexpected image"

# An attempt creates the pod that requests what the node offers, with the image and runtime class of the plugin, and says why it cannot.
# shellcheck disable=SC2016 # expanded in the step
attempt='offered_pods() { :; }
offered_waited=0
offered_start_one gpu1 time-slicing-4 nvidia.com/gpu=4 uid/containerd://c0ffee/v1 2026-11-29T07:00:10Z nvcr.io/plugin:v1 nvidia no'
exits 0 in_step "offered_kubectl() { cat >\"\$place/created\"; }
$attempt"
says "gpu1: a pod with a GPU is created"
jq -e '.spec.containers[0].image == "nvcr.io/plugin:v1" and .spec.runtimeClassName == "nvidia"' created >/dev/null || fail "the pod is $(cat created)"
exits 0 in_step "offered_kubectl() { echo 'Error from server (Forbidden): exceeded quota' >&2 && return 1; }
$attempt"
says "gpu1: a pod with a GPU Error from server (Forbidden): exceeded quota"
