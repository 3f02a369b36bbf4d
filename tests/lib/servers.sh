# shellcheck shell=bash disable=SC2154
# Servers that a test starts in the lab's network. Who sources it has `fail`, `lab` and $top, and ends $pids at its own end.
pids=()

# serves SECONDS PORT COMMAND...: in the background, in the client's network, until it listens there.
serves() {
  local deadline=$((SECONDS + $1)) port=$2
  shift 2
  "$top/tests/lab/lab" net "$@" >>served 2>&1 </dev/null &
  pids+=($!)
  until lab net bash -c "</dev/tcp/10.77.0.1/$port" 2>/dev/null; do
    [ "$SECONDS" -lt "$deadline" ] || fail "gave up waiting for $1 to listen"
    sleep 0.2
  done
}
