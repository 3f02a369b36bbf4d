# shellcheck shell=sh disable=SC2034,SC2154
# Functions for the steps of playbooks/gpu-reset.yaml, loaded after gpu.sh, processes.sh, gpu-users.sh and upgrade.sh. A reset that did not complete can
# be run again. The node's annotation gpuadm.io/gpu-reset marks it: "UUID SLOT", then "uncordon" if gpuadm cordoned the node, or "keep" if
# it was already cordoned. $gpu_reset_file on the host has what must be started again, and what this run has done; a boot removes it, and
# starts the services.

gpu_reset_file=/run/gpuadm/gpu-reset
gpu_reset_go_on="The node stays cordoned. Run the same command again to continue; with --cancel, the node is returned without a reset"

# --- On the control plane --------------------------------------------------------------------------------

gpu_reset_note() { upgrade_see_node "$reset_node" '{.metadata.annotations.gpuadm\.io/gpu-reset}'; }

gpu_reset_is_cordoned() {
  gpu_reset_said=$(gpu_reset_note) || exit 3
  case $gpu_reset_said in "$gpu_uuid $gpu_slot "*) upgrade_is_cordoned "$reset_node" ;; *) return 1 ;; esac
}
gpu_reset_cordon() {
  gpu_reset_said=$(gpu_reset_note) || exit 3
  case $gpu_reset_said in
    "$gpu_uuid $gpu_slot "*) ;;
    *)
      gpu_reset_then=uncordon
      if upgrade_is_cordoned "$reset_node"; then gpu_reset_then=keep; fi
      upgrade_kubectl annotate --overwrite node "$reset_node" "gpuadm.io/gpu-reset=$gpu_uuid $gpu_slot $gpu_reset_then" >/dev/null
      ;;
  esac
  upgrade_kubectl cordon "$reset_node" >/dev/null
}

# gpu_reset_left: those of $reset_pods that are still on the node, one NAMESPACE/NAME per line.
gpu_reset_left() {
  gpu_reset_there=$(upgrade_see get pods --all-namespaces --field-selector "spec.nodeName=$reset_node,status.phase!=Succeeded,status.phase!=Failed" \
    -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}') || return 1
  printf '%s\n' "$gpu_reset_there" | wanted=" $reset_pods " awk 'NF == 1 && index(ENVIRON["wanted"], " " $1 " ")'
}
gpu_reset_is_evicted() {
  [ -n "$reset_pods" ] || return 0
  gpu_reset_rest=$(gpu_reset_left) || exit 3
  [ -z "$gpu_reset_rest" ]
}

# gpu_reset_evict: as kubectl drain, for these pods only. The API server refuses what a PodDisruptionBudget does not allow with 429: this loop
# repeats it, not `request`.
gpu_reset_evict() {
  gpu_reset_api=policy/v1
  upgrade_kubectl get --raw /apis/policy/v1 >/dev/null 2>&1 || gpu_reset_api=policy/v1beta1 # before 1.22
  gpu_reset_end=$(($(uptime_seconds) + drain_timeout))
  gpu_reset_gone='' gpu_reset_why=''
  while :; do
    gpu_reset_rest=$(gpu_reset_left) || exit 3
    [ -n "$gpu_reset_rest" ] || return 0
    [ "$(uptime_seconds)" -lt "$gpu_reset_end" ] || gpu_reset_say_stuck
    for gpu_reset_pod in $gpu_reset_rest; do
      case " $gpu_reset_gone " in *" $gpu_reset_pod "*) continue ;; esac
      case $gpu_reset_pod in *[!a-z0-9./-]*) die "invalid name of a pod: $gpu_reset_pod" ;; esac
      if gpu_reset_said=$(request_again=0 && printf '{"apiVersion":"%s","kind":"Eviction","metadata":{"namespace":"%s","name":"%s"}}' \
        "$gpu_reset_api" "${gpu_reset_pod%%/*}" "${gpu_reset_pod#*/}" |
        upgrade_kubectl create --raw "/api/v1/namespaces/${gpu_reset_pod%%/*}/pods/${gpu_reset_pod#*/}/eviction" -f - 2>&1); then
        gpu_reset_gone="$gpu_reset_gone $gpu_reset_pod"
      else
        gpu_reset_why=$(printf '%s\n' "$gpu_reset_said" | tail -n 1)
      fi
    done
    sleep 2
  done
}

gpu_reset_say_stuck() {
  [ -z "$gpu_reset_why" ] || say "$gpu_reset_why"
  for gpu_reset_pod in $gpu_reset_rest; do
    say "$gpu_reset_pod was not evicted from $reset_node within ${drain_timeout}s. Check: kubectl -n ${gpu_reset_pod%%/*} get poddisruptionbudgets. To delete it: kubectl -n ${gpu_reset_pod%%/*} delete pod ${gpu_reset_pod#*/}"
  done
  die "the GPU was not reset. $gpu_reset_go_on, or with a longer --drain-timeout"
}

# A preview lists the node that will be uncordoned.
gpu_reset_has_returned() {
  [ "$gpuadm_step" != preview ] || exit 1
  gpu_reset_said=$(gpu_reset_note) || exit 3
  [ -z "$gpu_reset_said" ] || exit 1
}
gpu_reset_return() {
  gpu_reset_said=$(gpu_reset_note) || exit 3
  case $gpu_reset_said in *" uncordon") upgrade_kubectl uncordon "$reset_node" >/dev/null ;; esac
  upgrade_kubectl annotate node "$reset_node" gpuadm.io/gpu-reset- >/dev/null
}

# --- On the host -----------------------------------------------------------------------------------------

# gpu_reset_has WORDS: whether this run has recorded them.
gpu_reset_has() { grep -qxF -- "$gpuadm_run $1" "$gpu_reset_file" 2>/dev/null; }
gpu_reset_record() {
  [ -d "${gpu_reset_file%/*}" ] || mkdir -m 0700 "${gpu_reset_file%/*}"
  (umask 077 && printf '%s\n' "$1" >>"$gpu_reset_file")
}

# gpu_reset_smi SECONDS ARGUMENT...: runs nvidia-smi, and sets gpu_reset_said to its output. It runs apart from this shell: one that waits
# in the kernel (state D) cannot be ended. Returns its exit status, and 124 if it has not ended.
gpu_reset_smi() {
  gpu_reset_seconds=$1
  shift
  gpu_reset_dir=$(mktemp -d "$gpuadm_home/nvidia-smi.XXXXXX")
  (
    gpu_reset_rc=0
    timeout -k 2 "$gpu_reset_seconds" nvidia-smi "$@" >"$gpu_reset_dir/said" 2>&1 || gpu_reset_rc=$?
    printf '%s\n' "$gpu_reset_rc" >"$gpu_reset_dir/new" && mv "$gpu_reset_dir/new" "$gpu_reset_dir/status"
  ) >/dev/null 2>&1 </dev/null &
  gpu_reset_rc=124
  if in_time "$((gpu_reset_seconds + 5))" test -e "$gpu_reset_dir/status"; then gpu_reset_rc=$(cat "$gpu_reset_dir/status"); fi
  gpu_reset_said=$(head -c 4096 "$gpu_reset_dir/said" 2>/dev/null || :)
  rm -rf "$gpu_reset_dir"
  [ "$gpu_reset_rc" != 137 ] || gpu_reset_rc=124
  return "$gpu_reset_rc"
}
gpu_reset_line() { printf '%s\n' "$gpu_reset_said" | grep -v '^ *$' | head -n 3 | paste -sd' '; }

# gpu_reset_refuse_hung: another nvidia-smi would also hang.
gpu_reset_refuse_hung() {
  gpu_reset_pid=$(nvidia_smi_hung "$(command -v nvidia-smi)") || return 0
  gpu_reset_say_hung "nvidia-smi (pid $gpu_reset_pid) hangs in the kernel"
}
gpu_reset_say_hung() {
  die "$1: reboot the host, then run the same command again. The node stays cordoned; with --cancel, it is returned without a reset"
}

# gpu_reset_users: programs that have the GPU open, "NAME (pid N)" each, one per line. Neither the persistence daemon, which releases a GPU
# whose persistence mode is off, nor the fabric manager prevents a reset: their services, not what calls itself so.
gpu_reset_users() {
  gpu_user_programs "$gpu_device" | awk -F '\t' "$process_awk"'
    $1 == "unknown" { print "programs that cannot be listed" }
    NF == 3 && (is_users($3) || $3 !~ /\/system\.slice\/(nvidia-persistenced|nvidia-fabricmanager)\.service$/ || $3 ~ /kubepods/) {
      pod = !is_users($3) && match($3, /pod[0-9a-f_-]+/) ? " in " substr($3, RSTART, RLENGTH) : ""
      gsub("_", "-", pod)
      print ($2 == "" ? "unknown" : $2) " (pid " $1 ")" pod
    }'
}

# Services that keep the GPUs open: DCGM, NVIDIA's system management of DGX, and gpuadm's own health checks.
gpu_reset_services="gpuadm-health.timer nvidia-dcgm.service dcgm.service nvsm.service"
gpu_reset_allocators='app.kubernetes.io/name in (nvidia-device-plugin,nvidia-mps-control-daemon,nvidia-dra-driver)'

gpu_reset_plugins_ended() {
  gpu_reset_there=$(object_names node_kubectl -n kube-system get pods -l "$gpu_reset_allocators" --field-selector "spec.nodeName=$node_name") || return 1
  [ -z "$gpu_reset_there" ]
}

gpu_reset_is_free() {
  ! gpu_reset_has "reset $gpu_uuid" || return 0
  node_has_labels "$node_name" "gpuadm.io/device-plugin-
gpuadm.io/driver-root-" && gpu_reset_plugins_ended || return 1
  for gpu_reset_service in $gpu_reset_services; do
    ! unit_is_active "$gpu_reset_service" || return 1
  done
  [ "$(persistence_now "$gpu_slot")" != Enabled ] && [ -z "$(gpu_reset_users)" ]
}

# gpu_reset_free: without their labels, the pods of the device plugin and of the DRA driver leave the node; the pods that have its other
# GPUs keep running.
gpu_reset_free() {
  gpu_reset_refuse_hung
  node_label "$node_name" "gpuadm.io/device-plugin-
gpuadm.io/driver-root-"
  in_time "$gpuadm_end_of_pods" gpu_reset_plugins_ended ||
    die "pods of NVIDIA's device plugin or DRA driver still run on $node_name: kubectl -n kube-system get pods -o wide. $gpu_reset_go_on"
  for gpu_reset_service in $gpu_reset_services; do
    unit_is_active "$gpu_reset_service" || continue
    journal_unit "$gpu_reset_service"
    gpu_reset_record "service $gpu_reset_service"
    systemctl stop "$gpu_reset_service"
  done
  # A health run that the timer has started.
  systemctl stop gpuadm-health.service 2>/dev/null || :
  if [ "$(persistence_now "$gpu_slot")" = Enabled ]; then
    journal_thing persistence "$gpu_slot"
    gpu_reset_record "persistence $gpu_slot"
    gpu_reset_smi 60 -i "$gpu_uuid" -pm 0 || gpu_reset_say_failed "$?" "disable its persistence mode"
  fi
  if ! in_time 20 gpu_reset_is_unused; then
    die "GPU $gpu_slot is in use by $(gpu_reset_users | head -n 5 | paste -sd, | sed 's/,/, /g'): end these programs. $gpu_reset_go_on"
  fi
}
gpu_reset_is_unused() { [ -z "$(gpu_reset_users)" ]; }

# gpu_reset_say_failed STATUS WHAT: ends the step with what the output of nvidia-smi means: texts and statuses are in
# tests/lab/gpu-double/README.md.
gpu_reset_say_failed() {
  case $1:$gpu_reset_said in
    124:*) gpu_reset_say_hung "nvidia-smi did not $2 of GPU $gpu_slot within ${gpu_reset_seconds}s" ;;
    15:* | *'is lost'* | *'fallen off the bus'* | *'Unable to determine the device handle'* | *'No devices were found'*)
      die "GPU $gpu_slot has fallen off the bus ($(gpu_reset_line)): reboot the host, or power-cycle it if the GPU is still missing. $gpu_reset_go_on"
      ;;
    *'In use by another client'* | *'in use by'* | *'being used by'*)
      gpu_reset_by=$(gpu_reset_users | head -n 5 | paste -sd, | sed 's/,/, /g')
      [ -n "$gpu_reset_by" ] || gpu_reset_by="no visible program$([ ! -d /sys/module/nvidia_drm ] || echo '; the module nvidia_drm may use it: modprobe -r nvidia_drm, if no desktop runs')"
      die "nvidia-smi cannot $2 of GPU $gpu_slot: it is in use by $gpu_reset_by. $gpu_reset_go_on"
      ;;
    3:* | *'is not supported'* | *'Not Supported'*)
      die "GPU $gpu_slot does not support it ($(gpu_reset_line)); a hypervisor may forbid the reset: reboot the host, or stop and start the virtual machine. $gpu_reset_go_on"
      ;;
    *) die "nvidia-smi cannot $2 of GPU $gpu_slot (status $1): $(gpu_reset_line). $gpu_reset_go_on" ;;
  esac
}

gpu_reset_reset() {
  gpu_reset_refuse_hung
  gpu_reset_smi 120 --gpu-reset -i "$gpu_uuid" || gpu_reset_say_failed "$?" "complete the reset"
  gpu_reset_record "$gpuadm_run reset $gpu_uuid"
}

# gpu_reset_answers: the driver initializes the GPU, and its NVLinks join the fabric.
gpu_reset_answers() {
  gpu_reset_smi 30 -i "$gpu_uuid" --query-gpu=uuid --format=csv,noheader || {
    gpu_reset_rc=$?
    [ "$gpu_reset_rc" != 124 ] || wait_is_hopeless "nvidia-smi did not answer within 30s after the reset: reboot the host, then run the same command again. The node stays cordoned"
    say "nvidia-smi: $(gpu_reset_line). If the GPU does not come back, reboot the host, or power-cycle it. $gpu_reset_go_on"
    exit 1
  }
  [ "$gpu_reset_said" = "$gpu_uuid" ] || {
    say "nvidia-smi: $(gpu_reset_line)"
    exit 1
  }
  # Drivers without this field refuse it.
  gpu_reset_smi 30 -i "$gpu_uuid" --query-gpu=fabric.state --format=csv,noheader || return 0
  case $gpu_reset_said in
    'In Progress' | 'Not Started')
      say "the GPU's NVLinks have not joined the fabric yet: $gpu_reset_said"
      exit 1
      ;;
  esac
}

# gpu_reset_start: also after a run that was interrupted, and with --cancel.
gpu_reset_start() {
  if [ -f "$gpu_reset_file" ]; then
    if grep -qxF "persistence $gpu_slot" "$gpu_reset_file"; then
      gpu_reset_smi 60 -i "$gpu_uuid" -pm 1 || say "cannot enable persistence mode of GPU $gpu_slot: $(gpu_reset_line)"
    fi
    while read -r gpu_reset_kind gpu_reset_service; do
      [ "$gpu_reset_kind" = service ] || continue
      systemctl start "$gpu_reset_service" </dev/null || say "cannot start $gpu_reset_service: run journalctl -u $gpu_reset_service"
    done <"$gpu_reset_file"
    rm -f "$gpu_reset_file"
  fi
  gpu_reset_record "$gpuadm_run started $gpu_uuid"
}
