# shellcheck shell=sh disable=SC2154
# Prints what `gpuadm health` has on a host. Variables: what (status, history, recent, settings, usage), since (with usage). settings: "run OPTIONS", "every SECONDS" and
# "serve OPTIONS" of its units. status: "timer STATE", "service RESULT", "says LINE" (its last
# error), then "state " and the file of the last run. history: the lines of the history, oldest first, then the same. recent: status, then
# the last 200 lines of the history. usage: "state " and the file of the hours that have not ended, then the rows of the record of the GPUs
# from the hour `since` on, such as 2026-11-30T12, and "=== end". A run in between repeats rows, and hides none.
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
home=/var/lib/gpuadm/health
units=/etc/systemd/system

print_state() { [ ! -f "$home/state.json" ] || { printf 'state ' && head -c 262144 "$home/state.json" && echo; }; }

print_status() {
  printf 'timer %s\n' "$(systemctl is-active gpuadm-health.timer 2>/dev/null | head -n 1)"
  printf 'service %s\n' "$(systemctl show -p Result gpuadm-health.service 2>/dev/null | sed -n 's/^Result=//p')"
  printf 'says %s\n' "$(timeout -k 2 5 journalctl -u gpuadm-health.service _COMM=gpuadm -n 10 -o cat --no-pager 2>/dev/null | grep '^gpuadm: ' | tail -n 1 | head -c 500)"
  print_state
}

print_history() { for file in "$home/history.1.jsonl" "$home/history.jsonl"; do [ ! -f "$file" ] || head -c 1048576 "$file"; done; }

# The clock may have been set: rows are not in the order of time. A row begins with {"hour":"2026-11-30T12".
print_usage() {
  [ ! -f "$home/usage.json" ] || { printf 'state ' && head -c 8388608 "$home/usage.json" && echo; }
  for file in "$home/usage.1.jsonl" "$home/usage.jsonl"; do
    [ ! -f "$file" ] || head -c 67108864 "$file" | awk -v since="$since" 'substr($0, 10, 13) >= since'
  done
  echo '=== end'
}

case $what in
  settings)
    sed -n 's/^ExecStart=.* health run /run /p' "$units/gpuadm-health.service" 2>/dev/null | head -n 1 | head -c 65536
    sed -n 's/^OnUnitInactiveSec=/every /p' "$units/gpuadm-health.timer" 2>/dev/null | head -n 1
    sed -n 's/^ExecStart=.* health serve /serve /p' "$units/gpuadm-metrics.service" 2>/dev/null | head -n 1
    ;;
  status) print_status ;;
  history)
    print_history
    [ ! -f "$home/state.json" ] || echo
    print_state
    ;;
  usage) print_usage ;;
  recent)
    [ -f "$home/state.json" ] || [ -f "$units/gpuadm-health.timer" ] || exit 0
    print_status
    print_history | tail -n 200 | tail -c 262144
    ;;
esac
