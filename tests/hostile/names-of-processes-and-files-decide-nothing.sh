#!/usr/bin/env bash
# A user gives processes the names of nvidia-smi, etcd and NVIDIA's daemons, also with newlines and tabs, lets them wait in the kernel, and
# opens files whose names look like GPUs. Root takes none of them for a program of the host, and overlooks none that has a GPU open.
. "$(dirname "$0")/common"
export gpu=/dev/full # a device that nobody has open

programs() { # programs FILE: who has it open
  step one gpu-users.sh <<<"gpu_user_programs $1"
}

# --- Who uses a GPU ---------------------------------------------------------------------------------------
as "$mallory" -- true
mkdir theirs && chown "$mallory:" theirs
# What `ls -l /proc/*/fd` would print of another process, in the name of a file, and a file that is called like the device.
row=$'x\n/proc/1/fd:\nlrwx------ 1 root root 64 Nov 28 00:00 3 -> '$gpu$'\ny'
as "$mallory" -- mkdir -p "theirs/$(dirname "$row")"
as "$mallory" -- touch "theirs/$row" "theirs/x -> full"
shows called innocent "theirs/$row" "theirs/x -> full"
programs "$gpu"
[ ! -s out ] || fail "a user without a GPU uses it: $(cat out)"

# Who has it open is found, whatever name they give themselves, and under another name of the device, in a namespace of their own.
mknod -m 0644 other c 1 7
shows called $'a\tb\tc' "$gpu"
tabs=$shown
shows called $'\nnvidia-persist' "$place/other"
newline=$shown
shows called nvidia-persiste "$gpu"
daemon=$shown
programs "$gpu"
[ "$(cut -f1 out | sort -n | paste -sd' ')" = "$(printf '%s\n' "$tabs" "$newline" "$daemon" | sort -n | paste -sd' ')" ] || fail "the GPU is used by: $(cat out)"
[ "$(awk -F '\t' 'NF == 3' out | wc -l)" = 3 ] || fail "a name is in another column: $(cat -A out)"
step one gpu.sh gpu-users.sh upgrade.sh gpu-reset.sh <<<"gpu_device=$gpu; gpu_reset_users"
[ "$(wc -l <out)" = 3 ] || fail "a name makes a program one that does not prevent a reset: $(cat out)"

# An answer that was cut is unknown, not nobody.
mkdir none cut
printf '#!/bin/sh\nexit 126\n' >none/find
printf '#!/bin/sh\nshift 3\n"$@" | head -n 3\nexit 124\n' >cut/timeout
chmod +x none/find cut/timeout
for stub in none cut; do
  step one gpu-users.sh <<<"PATH=$place/$stub:\$PATH; gpu_user_programs $gpu"
  [ "$(tail -n 1 out)" = unknown ] || fail "files that could not all be listed are nobody's: $(cat out)"
  step one gpu.sh gpu-users.sh upgrade.sh gpu-reset.sh <<<"PATH=$place/$stub:\$PATH; gpu_device=/dev/kmsg; gpu_reset_users"
  [ "$(cat out)" = "programs that cannot be listed" ] || fail "a GPU whose users are unknown is free: $(cat out)"
done
printf '{"Data":{"PodDeviceEntries":[{"PodUID":"5c1a7a2e-93f4-4a53-8d1e-0a6f1c1b2d3e","DeviceIDs":{"0":["GPU-00112233-4455-6677-8899-aabbccddee00"]},"AllocResp":""}%*s]},"Checksum":1}' 5000 '' >checkpoint
step one gpu-users.sh <<<"gpu_users_checkpoint=$place/checkpoint; gpu_user_pods GPU-00112233-4455-6677-8899-aabbccddee01"
[ ! -s out ] || fail "a GPU without a pod has one: $(cat out)"
step one gpu-users.sh <<<"gpu_users_checkpoint=$place/checkpoint; gpu_users_most=4096; gpu_user_pods GPU-00112233-4455-6677-8899-aabbccddee01"
[ "$(cat out)" = unknown ] || fail "a checkpoint that was cut has no pod: $(cat out)"
head -c 1000 checkpoint >torn
step one gpu-users.sh <<<"gpu_users_checkpoint=$place/torn; gpu_user_pods GPU-00112233-4455-6677-8899-aabbccddee01"
[ "$(cat out)" = unknown ] || fail "an incomplete checkpoint has no pod: $(cat out)"

# --- Which nvidia-smi hangs -------------------------------------------------------------------------------
mkdir -p bin
cp hostile-user bin/nvidia-smi
exec 9<"$top/tests/lab/gpu-double/nvidia-smi" && flock 9
shows waits nvidia-smi
waiting=$shown
sleep 0.2
grep -q '^State:[[:space:]]*D' "/proc/$waiting/status" || skip "a parent of vfork is not in state D here"
shows waits $'\n1 (nvidia-smi'
step one <<<"PATH=$place/bin:\$PATH; nvidia_smi_hung $place/bin/nvidia-smi"
{ [ "$status" = 1 ] && [ ! -s out ]; } || fail "a process of a user is a hung nvidia-smi: $(cat out)"
step one gpu.sh gpu-users.sh upgrade.sh gpu-reset.sh <<<"PATH=$place/bin:\$PATH; gpu_reset_refuse_hung"
[ "$status" = 0 ] || fail "a process of a user prevents the reset of a GPU"
# Root's own one hangs; another program of root with its name does not.
cp hostile-user bin/sleeper
"$place/bin/sleeper" "$place/goes-on" waits nvidia-smi >said.sleeper &
"$place/bin/nvidia-smi" "$place/goes-on" waits renamed >said.own &
for _ in $(seq 100); do { [ ! -s said.own ] || [ ! -s said.sleeper ]; } || break; sleep 0.05; done
step one <<<"nvidia_smi_hung $place/bin/nvidia-smi"
[ "$(cat out)" = "$(cat said.own)" ] || fail "the hung nvidia-smi is not the one of root ($(cat said.own)): $(cat out)"
# After an update of the driver.
rm bin/nvidia-smi && cp hostile-user bin/nvidia-smi
step one <<<"nvidia_smi_hung $place/bin/nvidia-smi"
[ "$(cat out)" = "$(cat said.own)" ] || fail "a hung nvidia-smi whose file was replaced is not found: $(cat out)"

# --- The control plane ------------------------------------------------------------------------------------
shows called etcd
shows called kube-apiserver
for name in etcd kube-apiserver; do
  step one static-pods.sh <<<"static_pod_pids $name"
  [ ! -s out ] || fail "a process of a user is $name of the control plane: $(cat out)"
done
