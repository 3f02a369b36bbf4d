#!/usr/bin/env bash
# Health runs record who held each GPU, and gpuadm usage adds it up: allocated, free, unknown, over a boot, an hour's end and a line that was
# cut off. nvidia-smi is a double with real output of two idle GPUs; the folders of the node are the test's own, in a mount namespace.
# shellcheck disable=SC2016 # programs of jq
. "$(dirname "$0")/common"
needs jq unshare
[ "$(id -u)" = 0 ] || skip "needs root: health runs do"
if [ "${GPUADM_INSIDE:-}" != yes ]; then
  unshare -m true 2>/dev/null || skip "no mount namespaces here"
  GPUADM_INSIDE=yes GPUADM=$GPUADM unshare -m "$top/tests/cli/${0##*/}"
  exit
fi
for folder in /var/lib /var/log /run; do mount -t tmpfs tmpfs "$folder"; done
mkdir groups && mount --bind groups /sys/fs/cgroup
home=/var/lib/gpuadm/health
mkdir -p "$home" /var/lib/kubelet/device-plugins

exec 9<"$top/tests/lab/gpu-double/nvidia-smi" && flock -s 9
mkdir double
cp "$top"/tests/lab/gpu-double/h200x2/* "$top/tests/lab/gpu-double/help-query-gpu.txt" double
sed "s|^here=.*|here=$PWD/double|; s|^programs=.*|programs=$PWD/double/programs|" "$top/tests/lab/gpu-double/nvidia-smi" >double/nvidia-smi
chmod +x double/nvidia-smi
export PATH=$PWD/double:$PATH
mapfile -t gpus < <(nvidia-smi -L | sed -n 's/.*UUID: \(.*\))$/\1/p')
[ "${#gpus[@]}" = 2 ] || fail "the double has ${#gpus[@]} GPUs"

# The second pod has ended: it has no control group any more.
one=5c1a7a2e-93f4-4a53-8d1e-0a6f1c1b2d3e two=11111111-2222-4333-8444-555555555555
entry() { printf '{"PodUID":"%s","ContainerName":"work","ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["%s"]},"AllocResp":null}' "$1" "$2"; }
printf '{"Data":{"PodDeviceEntries":[%s,%s],"RegisteredDevices":{"nvidia.com/gpu":["%s","%s"]}},"Checksum":1}' \
  "$(entry "$one" "${gpus[0]}")" "$(entry "$two" "${gpus[1]}")" "${gpus[@]}" >/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint
mkdir -p "groups/kubepods/burstable/pod$one" "/var/log/pods/anna_work-0_$one"

run_health() { gpuadm health run --node gpu1 >log 2>&1 || fail "the run failed: $(cat log)"; }
# As if the last run had been so many seconds earlier.
age() { jq -c ".uptime -= $1" $home/usage.json >aged && cp aged $home/usage.json; }
record() { jq -e "$@" $home/usage.json >/dev/null || fail "the record is wrong: $(cat $home/usage.json)"; }

run_health
record '.rows == [] and (.gpus | length == 2)'
[ "$(stat -c %a $home/usage.json)" = 600 ] || fail "others may read the record"
age 200
run_health
record --arg gpu "${gpus[0]}" --arg uid "$one" '.rows | length == 2 and all(.seconds >= 200 and .seconds < 280 and .usedOf == .seconds and .joulesOf == .seconds and .used == 0) and
  any(.state == "held" and .gpu == $gpu and .uid == $uid and .namespace == "anna" and .pod == "work-0" and .joules > 10000) and any(.state == "free")'

exits 0 gpuadm usage -o json
complains "users are shown by their namespaces"
jq -e '.gpus == 2 and .by == "user" and ([.groups[].name] == ["namespace anna", "(free)"]) and (.total | .heldHours >= 0.055 and .heldHours == .freeHours and .unknownHours == 0 and .energyKwh > 0)' out >/dev/null ||
  fail "the report is wrong: $(cat out)"
exits 0 gpuadm usage --by workload -o csv
says '"anna/work-0",0.0'
[ "$(wc -l <out)" = 4 ] || fail "not a line each"
exits 0 gpuadm usage --by gpu
says "${gpus[1]}"

# A boot is a gap.
jq -c '.bootId = "another"' $home/usage.json >booted && cp booted $home/usage.json
before=$(jq '[.rows[].seconds] | add' $home/usage.json)
run_health
record --argjson before "$before" '([.rows[].seconds] | add) == $before'
# So is an hour without a run.
age 3600
run_health
record --argjson before "$before" '([.rows[].seconds] | add) == $before'

# While nvidia-smi does not answer, both GPUs are unknown, not free.
mv double/nvidia-smi double/works
printf '#!/bin/sh\necho "Unable to determine the device handle" >&2\nexit 9\n' >double/nvidia-smi
chmod +x double/nvidia-smi
age 100
run_health
record '[.rows[] | select(.state == "unknown")] | length == 2 and all(.seconds >= 100 and .usedOf == 0 and .joulesOf == 0)'
mv double/works double/nvidia-smi

# The hour ends: its rows are appended. A line that was cut off does not damage the next ones.
hour=$(date -u -d '2 hours ago' +%Y-%m-%dT%H)
jq -c --arg hour "$hour" '.rows |= map(.hour = $hour)' $home/usage.json >older && cp older $home/usage.json
total=$(jq '[.rows[].seconds] | add' $home/usage.json)
printf '{"hour":"%s","gpu' "$hour" >>$home/usage.jsonl
age 100
run_health
[ "$(wc -l <$home/usage.jsonl)" = 5 ] || fail "not a row each: $(cat $home/usage.jsonl)"
record '.rows | length == 2'
exits 1 gpuadm usage --by node
says "a damaged line of its record is ignored"
exits 1 gpuadm usage --by node -o json
jq -e --argjson total "$total" '.total | (.heldHours + .freeHours + .unknownHours) * 3600 | . > $total + 190 and . < $total + 300' out >/dev/null || fail "hours are lost: $(cat out)"
exits 0 gpuadm usage --since 1h --by node -o json
jq -e '.total.unknownHours == 0 and .total.heldHours < 0.05' out >/dev/null || fail "older hours count"

# Bad options, and a node without a record.
exits 2 gpuadm usage --since 0d
complains "invalid duration"
exits 2 gpuadm usage --by month
rm -r $home
exits 1 gpuadm usage
says "no record: run gpuadm health enable"
