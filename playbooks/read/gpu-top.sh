# shellcheck shell=sh disable=SC2034,SC2154
# Prints one sample of the host's GPUs, as nvidia-smi reports them, for gpuadm gpu top. Variables: fields, the number of the list
# below that this driver supports, or empty; mig=yes: also the MIG instances; doubtful=yes: an earlier nvidia-smi may still hang.
# "=== NAME" begins a section, "| " is a line of nvidia-smi, "? N" is its exit status, "@ PID PATH" is the control group of a
# process. A section without "? " did not end. "=== reserved": "| UUID POD-UID" for each GPU, or share of one, that the kubelet has allocated to
# a pod that still has a control group; only root may read that.
fields_1=index,uuid,name,mig.mode.current,utilization.gpu,utilization.memory,memory.total,memory.used,temperature.gpu,power.draw,enforced.power.limit,clocks.current.sm,clocks.max.sm,clocks.current.memory,clocks_event_reasons.active,temperature.memory
# Before driver 535: clocks_throttle_reasons. Before driver 450: no MIG.
fields_2=index,uuid,name,mig.mode.current,utilization.gpu,utilization.memory,memory.total,memory.used,temperature.gpu,power.draw,enforced.power.limit,clocks.current.sm,clocks.max.sm,clocks.current.memory,clocks_throttle_reasons.active
fields_3=index,uuid,name,utilization.gpu,utilization.memory,memory.total,memory.used,temperature.gpu,power.draw,enforced.power.limit,clocks.current.sm,clocks.max.sm,clocks.current.memory,clocks_throttle_reasons.active

# shellcheck source=playbooks/processes.sh
[ "${processes_is_here:-}" = yes ] || . "$(dirname "$0")/../processes.sh"

echo 'gpuadm-gpu-top 1'
[ ! -e /etc/kubernetes/admin.conf ] || echo '=== control-plane'
# GPUs in quarantine: as /etc/gpuadm/quarantine lists them.
if [ -f /etc/gpuadm/quarantine ]; then
  echo '=== quarantine'
  lines=0
  while [ "$lines" -lt 64 ] && IFS= read -r line; do
    lines=$((lines + 1))
    case $line in GPU-*) printf '| %.600s\n' "$line" ;; esac
  done </etc/gpuadm/quarantine
fi

reserved() {
  checkpoint=/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint
  [ -r "$checkpoint" ] || return 0
  echo '=== reserved'
  # "PodUID" is the first member of an entry and "AllocResp" the last one: pkg/kubelet/cm/devicemanager/checkpoint of Kubernetes.
  head -c 4194304 "$checkpoint" | awk '
    { text = text $0 }
    END {
      entries = split(text, entry, /"PodUID":"/)
      for (i = 2; i <= entries && i < 2000; i++) {
        pod = devices = entry[i]
        sub(/".*/, "", pod)
        sub(/"AllocResp".*/, "", devices)
        if (pod !~ /^[0-9a-f-]+$/) continue
        while (match(devices, /"GPU-[0-9a-f-]+/)) {
          gpu = substr(devices, RSTART + 1, RLENGTH - 1)
          devices = substr(devices, RSTART + RLENGTH)
          if (!seen[gpu " " pod]++) print gpu, pod
        }
      }
    }' | while read -r gpu pod; do
    group=$(printf '%s\n' "$pod" | tr - _)
    for folder in /sys/fs/cgroup/kubepods*/*pod"$pod"* /sys/fs/cgroup/kubepods*/*/*pod"$pod"* /sys/fs/cgroup/kubepods*/*pod"$group"* \
      /sys/fs/cgroup/kubepods*/*/*pod"$group"* /sys/fs/cgroup/memory/kubepods*/*pod"$pod"* /sys/fs/cgroup/memory/kubepods*/*/*pod"$pod"* \
      /sys/fs/cgroup/memory/kubepods*/*/*pod"$group"*; do
      [ -d "$folder" ] || continue
      printf '| %s %s\n' "$gpu" "$pod"
      break
    done
  done
}
reserved

smi=
for program in nvidia-smi /usr/local/nvidia/bin/nvidia-smi /opt/nvidia/bin/nvidia-smi /usr/lib/wsl/lib/nvidia-smi; do
  if [ -z "$smi" ] && command -v "$program" >/dev/null 2>&1; then smi=$program; fi
done
if [ -z "$smi" ]; then
  echo '=== absent'
  exit 0
fi

# A process that waits in the kernel (state D) cannot be ended. Another nvidia-smi would also hang.
if [ "$doubtful" = yes ] && pid=$(nvidia_smi_hung "$(command -v "$smi")"); then
  printf '=== hangs\n| %s\n' "$pid"
  exit 0
fi

smi_for() { timeout -k 1 20 "$smi" "$@"; }

# said TEXT: lines of nvidia-smi. They contain names of programs, which may contain newlines: only the lines of this script begin a section
# or are a status.
said() { printf '%s\n' "$1" | sed 's/^/| /'; }

sample() {
  for number in $fields 1 2 3; do
    eval "names=\$fields_$number"
    text=$(smi_for "--query-gpu=$names" --format=csv,nounits 2>&1)
    status=$?
    [ "$status" = 2 ] || break # 2: the driver does not support one of the fields
  done
  echo '=== gpus'
  said "$text"
  printf '? %s\n=== fields\n| %s\n' "$status" "$number"
  [ "$status" = 0 ] || return
  echo '=== programs'
  text=$(smi_for --query-compute-apps=gpu_uuid,pid,used_memory,process_name --format=csv,noheader,nounits 2>&1)
  status=$?
  said "$text"
  echo "? $status"
  [ "$mig" = yes ] || return
  echo '=== mig'
  text=$(smi_for -L 2>&1)
  status=$?
  said "$text"
  echo "? $status"
  echo '=== mig-memory'
  text=$(smi_for -q -x 2>/dev/null)
  status=$?
  printf '%s\n' "$text" | awk '
    function value(s) {
      gsub(/<[^>]*>/, "", s)
      gsub(/[ \t]/, "", s)
      sub(/MiB$/, "", s)
      return s
    }
    /<gpu id=/ { gpu++ }
    /<mig_device>/ { inside = 1; memory = 0; index_of = total = used = "" }
    /<\/mig_device>/ { print "|", gpu - 1, index_of, total, used; inside = 0 }
    !inside { next }
    /<index>/ && index_of == "" { index_of = value($0) }
    /<fb_memory_usage>/ { memory = 1 }
    /<\/fb_memory_usage>/ { memory = 0 }
    memory && /<total>/ { total = value($0) }
    memory && /<used>/ { used = value($0) }'
  echo "? $status"
}

# The sample runs apart from this shell and from the connection: if nvidia-smi cannot be ended, both continue without it.
# shellcheck disable=SC2016
(sample &) | timeout 45 awk "$process_awk"'
  /^=== / { section = $2 }
  !/^\| / { print; next }
  lines++ > 4000 { next }
  { print substr($0, 1, 602) }
  { sub(/^\| /, "") }
  section == "programs" && split($0, cell, ", ") > 2 && cell[2] ~ /^[0-9]+$/ && programs++ < 1000 {
    group = control_group(cell[2])
    if (group != "") print "@ " cell[2] " " group
  }'
