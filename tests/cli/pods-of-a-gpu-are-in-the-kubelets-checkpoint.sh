#!/usr/bin/env bash
# Which pods have a GPU is read from the kubelet's checkpoint: by UUID, by shares of it, and only for that GPU. Devices without UUIDs, and a
# kubelet without a checkpoint, are unknown. A program with the GPU's device file open is found by the file's number.
. "$(dirname "$0")/common"

one=5c1a7a2e-93f4-4a53-8d1e-0a6f1c1b2d3e two=11111111-2222-4333-8444-555555555555
gpu=GPU-00112233-4455-6677-8899-aabbccddee0
pods() {
  # shellcheck disable=SC2016
  sh -euc '. "$1/playbooks/gpu-users.sh"; gpu_users_checkpoint=$2; gpu_user_pods "$3"' sh "$top" "$place/checkpoint" "$1" >out
}
# The members and their order are those of pkg/kubelet/cm/devicemanager/checkpoint of Kubernetes 1.20 and newer.
entry() { printf '{"PodUID":"%s","ContainerName":"work","ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":[%s]},"AllocResp":"CgZOVklESUE="}' "$1" "$2"; }
checkpoint() { printf '{"Data":{"PodDeviceEntries":[%s],"RegisteredDevices":{"nvidia.com/gpu":[%s]}},"Checksum":2845634417}' "$1" "$2" >checkpoint; }

checkpoint "$(entry "$one" "\"${gpu}0\"")" "\"${gpu}0\",\"${gpu}1\""
pods "${gpu}0"
[ "$(cat out)" = "$one" ] || fail "the pod of the GPU is not found"
pods "${gpu}1"
[ ! -s out ] || fail "a GPU without a pod has one"
checkpoint "$(entry "$one" "\"${gpu}0::0\",\"${gpu}1::2\""),$(entry "$two" "\"${gpu}1::3\""),$(entry "$one" "\"${gpu}1::2\"")" "\"${gpu}0::0\""
pods "${gpu}1"
[ "$(cat out)" = "$one
$two" ] || fail "the pods with shares of the GPU are not found, each once"
# Before 1.20, devices were a list; a static pod has a hash.
printf '{"Data":{"PodDeviceEntries":[{"PodUID":"0123456789abcdef0123456789abcdef","ContainerName":"a","ResourceName":"nvidia.com/gpu","DeviceIDs":["%s"],"AllocResp":null}],"RegisteredDevices":{}},"Checksum":1}' "${gpu}1" >checkpoint
pods "${gpu}1"
[ "$(cat out)" = 0123456789abcdef0123456789abcdef ] || fail "a list of devices is not read"
checkpoint "$(entry "$one" '"double-0"')" '"double-0"'
pods "${gpu}1"
[ "$(cat out)" = unknown ] || fail "devices without UUIDs are not unknown"
rm checkpoint
pods "${gpu}1"
[ "$(cat out)" = unknown ] || fail "without a checkpoint, the pods are not unknown"

touch "$place/nvidia1"
sleep 60 3<"$place/nvidia1" &
held=$!
trap 'kill "$held" 2>/dev/null || :; rm -rf "$place"' EXIT
for _ in $(seq 100); do [ "$(cat "/proc/$held/comm")" != sleep ] || break; sleep 0.1; done
# shellcheck disable=SC2016
sh -euc '. "$1/playbooks/processes.sh"; . "$1/playbooks/gpu-users.sh"; gpu_user_programs "$2"' sh "$top" "$place/nvidia1" >out
grep -q "^$held	sleep	" out || fail "the program is not found"
! grep -v "^$held	" out | grep -v '^unknown$' || fail "others are found"
# Without root, the files of others cannot be read.
[ "$(id -u)" = 0 ] || grep -qx unknown out || fail "programs of others that cannot be read are nobody's"
! grep -qx unknown out || [ "$(id -u)" != 0 ] || fail "not all programs are listed"
