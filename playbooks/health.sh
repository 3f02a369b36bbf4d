# shellcheck shell=sh disable=SC2154
# Functions for the steps of `gpuadm health enable` and `disable`, loaded after prelude.sh.

health_program=/usr/local/libexec/gpuadm/gpuadm
health_home=$gpuadm_home/health
health_units='/etc/systemd/system/gpuadm-health.service /etc/systemd/system/gpuadm-health.timer'
health_files='state.json history.jsonl history.1.jsonl usage.json usage.jsonl usage.1.jsonl lock facts.txt tls.key tls.crt'
health_metrics=/run/gpuadm-health

# --- The program -----------------------------------------------------------------------------------------

health_program_check() { file_has_sum "$bundle_target" "$bundle_sha256" || exit 1; }

# health_program_put: stdin is the program. It is tried before it replaces another one: a build for another machine, or one that is linked
# to libraries that this host lacks, does not start.
health_program_put() {
  path_open "$bundle_target"
  health_try=$(mktemp -d "$gpuadm_home/try.XXXXXX")
  trap 'rm -rf "$health_try"' EXIT
  (umask 077 && cat >"$health_try/gpuadm") || die "cannot write to $health_try"
  chmod 0700 "$health_try/gpuadm"
  gpuadm_why=$(limit_of 20 "$health_try/gpuadm" version 2>&1) || {
    say "$(printf '%s\n' "$gpuadm_why" | tail -n 1)"
    die "this build of gpuadm does not run on the host: use a released build for the host's architecture, which is linked to glibc 2.31 only"
  }
  exec <"$health_try/gpuadm"
  rm -rf "$health_try"
  file_install "$bundle_target" "$bundle_mode"
}

# --- The timer -------------------------------------------------------------------------------------------

health_folder_check() {
  [ -d "$health_home" ] && [ ! -L "$health_home" ] && [ "$(stat -c '%a %u' "$health_home")" = '700 0' ] || exit 1
}
health_folder_put() {
  journal_open
  # The runs of the service write these files: undo removes them, whatever they contain then.
  for health_file in $health_files; do journal_for_others file "$health_home/$health_file"; done
  journal_for_others file "$health_metrics/node.prom"
  mkdir -p "$health_home"
  chmod 0700 "$health_home"
}

health_timer_check() {
  unit_is_enabled gpuadm-health.timer && unit_is_active gpuadm-health.timer || exit 1
  [ "$(systemctl show -p NeedDaemonReload gpuadm-health.timer gpuadm-health.service | grep -c '=yes')" = 0 ] || exit 1
}
health_timer_put() {
  journal_unit gpuadm-health.service
  journal_unit gpuadm-health.timer
  systemctl daemon-reload
  systemctl enable --quiet gpuadm-health.timer
  systemctl restart gpuadm-health.timer
}

# --- The metrics -----------------------------------------------------------------------------------------

health_metrics_check() {
  unit_is_enabled gpuadm-metrics.service && unit_is_active gpuadm-metrics.service || exit 1
  systemctl show -p NeedDaemonReload gpuadm-metrics.service | grep -q '=no' || exit 1
  # A service of a program that was replaced since then.
  case $(readlink "/proc/$(systemctl show -p MainPID gpuadm-metrics.service | cut -d= -f2)/exe" 2>/dev/null) in *' (deleted)') exit 1 ;; esac
}
# A port that is in use, or an address that the host does not have, is reported here, and not only in the log of a unit that restarts.
health_metrics_put() {
  journal_unit gpuadm-metrics.service
  systemctl daemon-reload
  systemctl enable --quiet gpuadm-metrics.service
  systemctl restart gpuadm-metrics.service
  sleep 2
  unit_is_active gpuadm-metrics.service || {
    say "$(journalctl -u gpuadm-metrics.service -n 20 -o cat --no-pager 2>/dev/null | grep '^gpuadm: ' | tail -n 1)"
    die "gpuadm-metrics.service does not run: run journalctl -u gpuadm-metrics"
  }
}

health_no_metrics_check() {
  [ ! -e /etc/systemd/system/gpuadm-metrics.service ] && ! unit_is_active gpuadm-metrics.service || exit 1
}
health_metrics_stop() {
  journal_unit gpuadm-metrics.service
  systemctl stop gpuadm-metrics.service 2>/dev/null || :
  systemctl disable --quiet gpuadm-metrics.service 2>/dev/null || :
  if [ -e /etc/systemd/system/gpuadm-metrics.service ]; then
    file_remove /etc/systemd/system/gpuadm-metrics.service
  fi
  rm -f "$health_home/tls.key" "$health_home/tls.crt"
  systemctl daemon-reload
  systemctl reset-failed gpuadm-metrics.service 2>/dev/null || :
}

# --- Removal ---------------------------------------------------------------------------------------------

health_stop_check() {
  ! unit_is_active gpuadm-health.timer && ! unit_is_active gpuadm-health.service || exit 1
  for health_unit in $health_units; do [ ! -e "$health_unit" ] || exit 1; done
}
health_stop() {
  for health_unit in gpuadm-health.timer gpuadm-health.service; do
    journal_unit "$health_unit"
    systemctl stop "$health_unit" 2>/dev/null || :
  done
  systemctl disable --quiet gpuadm-health.timer 2>/dev/null || :
  for health_unit in $health_units; do
    [ ! -e "$health_unit" ] || file_remove "$health_unit"
  done
  systemctl daemon-reload
  systemctl reset-failed gpuadm-health.service 2>/dev/null || :
}

health_remove_check() { [ ! -e "$health_program" ] && [ ! -e "$health_home" ] && [ ! -e "$health_metrics" ] || exit 1; }
health_remove() {
  if [ -e "$health_program" ]; then
    file_remove "$health_program"
    rm -f "$(file_sum_note "$health_program")"
    rmdir "${health_program%/*}" 2>/dev/null || :
  fi
  rm -rf "$health_home" "$health_metrics"
}
