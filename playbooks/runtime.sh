# shellcheck shell=sh disable=SC2034,SC2154
# Functions for the steps that configure a container runtime, loaded after prelude.sh.

containerd_answers() {
  ctr --timeout 5s plugins ls 2>/dev/null |
    awk '$1 ~ /^io\.containerd\.(grpc\.v1|cri)/ && $2 == "cri" && $NF == "ok" { found = 1 } END { exit !found }'
}
# containerd_is_ours: containerd was installed from a bundle. After an interrupted run only the journal may record it.
containerd_is_ours() {
  gpuadm_program=$(command -v containerd)
  [ -e "$(file_sum_note "$gpuadm_program")" ] || journal_has file "$gpuadm_program"
}
# containerd_becomes_stale PATH: called before this file is replaced; the file is restored if containerd then does not start.
containerd_becomes_stale() {
  if [ -e "$1" ]; then
    journal_original "$1"
    journal_has reader "$1" "$gpuadm_run" || journal_line reader "$1" containerd.service
  fi
  unit_stale containerd.service
}
docker_answers() { timeout 5 docker version >/dev/null 2>&1; }
crio_answers() { timeout 5 crio status info >/dev/null 2>&1 || timeout 5 crio-status info >/dev/null 2>&1; }

# read_units: the state of units that checks ask for.
preview_reads="$preview_reads read_units"
read_units() {
  gpuadm_units=$(systemctl show -p Id,ActiveState,UnitFileState containerd.service docker.service crio.service kubelet.service \
    gpuadm-pod-routes.service gpuadm-pod-forward.service gpuadm-health.timer gpuadm-metrics.service 2>/dev/null) || gpuadm_units=
}

# runtime_runs UNIT: it is running with its current files, and is enabled at boot.
runtime_runs() { unit_is_active "$1" && ! unit_is_stale "$1" && unit_is_enabled "$1"; }

# runtime_would_read PATH NEW COMMAND...: runs the runtime's own parser with NEW mounted over PATH in a separate mount namespace.
# Without mount namespaces the test is skipped.
runtime_would_read() {
  gpuadm_at=$1 gpuadm_as=$2
  shift 2
  unshare --mount true 2>/dev/null || return 0
  if [ ! -e "$gpuadm_at" ]; then
    gpuadm_copy=$(mktemp -d "$gpuadm_home/validate.XXXXXX")
    cp -a "$(dirname "$gpuadm_at")/." "$gpuadm_copy/"
    mv "$gpuadm_copy/$(basename "$gpuadm_as")" "$gpuadm_copy/$(basename "$gpuadm_at")"
    gpuadm_at=$(dirname "$gpuadm_at") gpuadm_as=$gpuadm_copy
  fi
  gpuadm_rc=0
  # shellcheck disable=SC2016 # for the shell in there
  timeout 20 unshare --mount sh -c 'mount --bind "$1" "$2" && shift 2 && "$@" >/dev/null' sh \
    "$gpuadm_as" "$gpuadm_at" "$@" || gpuadm_rc=$?
  [ -z "${gpuadm_copy:-}" ] || rm -rf "$gpuadm_copy"
  return "$gpuadm_rc"
}

# runtime_restart UNIT ANSWERS: restarts it with the new files. If the function ANSWERS then fails, the files are restored, and the
# step fails.
runtime_restart() {
  gpuadm_back='' gpuadm_stale=no
  ! unit_is_stale "$1" || gpuadm_stale=yes
  gpuadm_earlier="it did not respond before either"
  ! "$2" || gpuadm_earlier="it responded before"
  journal_unit "$1"
  systemctl enable --quiet "$1"
  if runtime_start "$1" "$2" 18; then
    unit_is_fresh "$1"
    return 0
  fi
  gpuadm_why=$(journalctl -u "$1" -n 5 --no-pager -o cat 2>/dev/null || :)
  [ "$gpuadm_stale" = no ] || gpuadm_back=$(restore_unit_files "$1")
  if [ -n "$gpuadm_back" ]; then
    unit_is_fresh "$1"
    if runtime_start "$1" "$2" 60; then gpuadm_now="responds again"; else gpuadm_now="does not respond with the previous one either"; fi
    say "$gpuadm_why"
    die "$1 did not start with the new configuration ($gpuadm_earlier); restored:$gpuadm_back; it $gpuadm_now"
  fi
  say "$gpuadm_why"
  die "$1 does not respond, and gpuadm changed none of its files: run journalctl -u $1"
}

# runtime_start UNIT ANSWERS SECONDS: up to a minute for the old process to exit is not counted.
runtime_start() {
  gpuadm_old=$(systemctl show -p InvocationID "$1")
  gpuadm_stop=$(($(uptime_seconds) + 60)) gpuadm_end=
  systemctl reset-failed "$1" 2>/dev/null || :
  systemctl daemon-reload # the unit file may have changed
  systemctl restart --no-block "$1"
  while :; do
    sleep 0.1
    if [ -z "$gpuadm_end" ]; then
      if [ "$(systemctl show -p InvocationID "$1")" = "$gpuadm_old" ] && [ "$(uptime_seconds)" -lt "$gpuadm_stop" ]; then continue; fi
      gpuadm_end=$(($(uptime_seconds) + $3))
    fi
    case $(systemctl show -p ActiveState -p SubState "$1") in
      *=failed* | *=auto-restart*) return 1 ;;
      *=active*) ! "$2" || return 0 ;;
    esac
    [ "$(uptime_seconds)" -lt "$gpuadm_end" ] || return 1
  done
}
