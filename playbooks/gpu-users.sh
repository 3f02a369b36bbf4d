# shellcheck shell=sh disable=SC2034,SC2154
# Functions that list who uses one GPU of this host, for playbooks/read/gpu-users.sh and playbooks/gpu-reset.sh, loaded after processes.sh.
gpu_users_is_here=yes
gpu_users_checkpoint=/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint
gpu_users_most=4194304 # bytes of the checkpoint

# gpu_user_pods UUID: the UIDs of the pods to which the kubelet has allocated the GPU, one per line. "unknown" if its checkpoint does not
# exist, is larger than that, is not complete, or has no GPU by UUID: NVIDIA's device plugin names GPUs by UUID, and shares by UUID::NUMBER.
gpu_user_pods() {
  [ -r "$gpu_users_checkpoint" ] || {
    echo unknown
    return 0
  }
  # "PodUID" is the first member of an entry and "AllocResp" the last one: pkg/kubelet/cm/devicemanager/checkpoint of Kubernetes.
  head -c "$gpu_users_most" "$gpu_users_checkpoint" | awk -v uuid="$1" -v most="$gpu_users_most" '
    { text = text $0 }
    END {
      if (text !~ /"GPU-[0-9a-f]/ || length(text) + 1 >= most || text !~ /"Checksum":[0-9]+}[ \t\r]*$/) {
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

# gpu_device_number DEVICE: as file_number. A GPU whose file does not exist on the host has its usual number (major 195).
gpu_device_number() {
  gpu_users_is=$(file_number "$1")
  [ -n "$gpu_users_is" ] || gpu_users_is="c c3:$(printf %x "${1##*nvidia}" 2>/dev/null)"
  printf '%s\n' "$gpu_users_is"
}

# gpu_user_programs DEVICE: "PID<tab>NAME<tab>CONTROL GROUP" of each process that has the device open. DEVICE is empty if its number is not
# known: those of any GPU. "unknown" after them if not all open files could be read.
gpu_user_programs() {
  gpu_users_number=
  [ -z "$1" ] || gpu_users_number=$(gpu_device_number "$1")
  open_files | awk -v number="$gpu_users_number" "$process_awk"'
    $1 == "whole" {
      whole = 1
      next
    }
    {
      kind = $2 " " $3
      # 195 is the major number of GPUs; 254 and 255 are the minor numbers of nvidia-modeset and nvidiactl.
      if (number == "" ? kind !~ /^c c3:/ || kind ~ /:f[ef]$/ : kind != number) next
      if (!seen[$1]++) print $1 "\t" name_of($1) "\t" control_group($1)
    }
    END { if (!whole) print "unknown" }'
}
