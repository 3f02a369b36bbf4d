#!/usr/bin/env bash
# gpuadm is killed in each step of `health enable`. After each kill the same command converges, and disable leaves nothing.
. "$(dirname "$0")/common"

ready_nodes 1 one
if ldd "$GPUADM" | grep -q yaml-cpp && ! on one "ldconfig -p | grep -q yaml-cpp"; then own_libraries one; fi
traces() {
  on one "ls -d /usr/local/libexec/gpuadm /var/lib/gpuadm/health /run/gpuadm-health /etc/systemd/system/*gpuadm-[hm]e* /etc/systemd/system/*.wants/gpuadm-[hm]e* 2>/dev/null; systemctl list-units --all --no-legend 'gpuadm-health*' 'gpuadm-metrics*' || :"
}
# shellcheck disable=SC2054 # the commas belong to a value
health=(health enable -f cluster.yaml --interval 10 --metrics loopback --skip "gpu.driver,gpu.cdi,nct" -y)
# in_step ID: waits until the step has begun. Fails where the run ended without it.
in_step() {
  local deadline=$((SECONDS + 240))
  until events 2>/dev/null | grep >/dev/null "\"did\":\"started\",\"host\":.*\"step\":\"$1\""; do
    kill -0 "$running" 2>/dev/null || return 1
    [ "$SECONDS" -lt "$deadline" ] || fail "gave up waiting for the step $1"
    sleep 0.05
  done
}
reached=0
for step in health.program health.folder health.service health.timer health.start health.metrics.service health.metrics.start; do
  begins "${health[@]}"
  if in_step "$step"; then
    reached=$((reached + 1))
    kill -9 "$running"
  fi
  wait "$running" || :
  exits 0 gpuadm "${health[@]}"
  exits 0 gpuadm "${health[@]}"
  says "nothing to do"
  exits 0 gpuadm health disable -f cluster.yaml -y
  traces >traces.log
  [ ! -s traces.log ] || fail "killed in $step, health disable has left $(cat traces.log)"
done
[ "$reached" -ge 5 ] || fail "only $reached steps were reached"
# Killed, and disabled without another enable.
for step in health.folder health.start; do
  begins "${health[@]}"
  in_step "$step" || fail "the step $step was not reached"
  kill -9 "$running"
  wait "$running" || :
  exits 0 gpuadm health disable -f cluster.yaml -y
  traces >traces.log
  [ ! -s traces.log ] || fail "disabled after a kill in $step, there is $(cat traces.log)"
done
