# shellcheck shell=sh disable=SC2034
# Functions that list who uses one GPU of this host, for playbooks/read/gpu-users.sh and playbooks/gpu-reset.sh.
gpu_users_is_here=yes
gpu_users_checkpoint=/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint

# gpu_user_pods UUID: the UIDs of the pods to which the kubelet has allocated the GPU, one per line. "unknown" if its checkpoint does not
# exist or has no GPU by UUID: NVIDIA's device plugin names GPUs by UUID, and shares by UUID::NUMBER.
gpu_user_pods() {
  [ -r "$gpu_users_checkpoint" ] || {
    echo unknown
    return 0
  }
  # "PodUID" is the first member of an entry and "AllocResp" the last one: pkg/kubelet/cm/devicemanager/checkpoint of Kubernetes.
  head -c 4194304 "$gpu_users_checkpoint" | awk -v uuid="$1" '
    { text = text $0 }
    END {
      if (text !~ /"GPU-[0-9a-f]/) {
        print "unknown"
        exit
      }
      entries = split(text, entry, /"PodUID":"/)
      for (i = 2; i <= entries; i++) {
        devices = entry[i]
        sub(/"AllocResp".*/, "", devices)
        if (!index(devices, "\"" uuid "\"") && !index(devices, "\"" uuid "::")) continue
        sub(/".*/, "", entry[i])
        if (entry[i] ~ /^[0-9a-f-]+$/ && !seen[entry[i]]++) print entry[i]
      }
    }'
}

# gpu_user_programs DEVICE: "PID<tab>NAME<tab>CONTROL GROUP" of each process that has the device file open; DEVICE is empty if its number is
# not known: those of any GPU.
gpu_user_programs() {
  # shellcheck disable=SC2012 # of each line only what a link of /proc points to is read
  { ls -l /proc/[0-9]*/fd 2>/dev/null || :; } | awk -v device="$1" '
    function first_line(file, line) {
      line = ""
      getline line <file
      close(file)
      return line
    }
    function control_group(file, line, chosen) {
      while ((getline line <file) > 0)
        if (chosen == "" || (line ~ /kubepods/ && chosen !~ /kubepods/) || (line ~ /^0::/ && chosen !~ /kubepods/)) chosen = line
      close(file)
      return substr(chosen, 1, 1000)
    }
    /^\/proc\/[0-9]+\/fd:$/ {
      split($0, part, "/")
      pid = part[3]
      next
    }
    {
      at = index($0, " -> ")
      target = at ? substr($0, at + 4) : ""
      if (target != device && (device != "" || target !~ /^\/dev\/nvidia[0-9]+$/)) next
      if (seen[pid]++) next
      print pid "\t" first_line("/proc/" pid "/comm") "\t" control_group("/proc/" pid "/cgroup")
    }'
}
