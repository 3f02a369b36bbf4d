#!/usr/bin/env bash
# Ctrl-C once: the running step is finished, the run ends with 130, the lock is free, and the next run continues.
. "$(dirname "$0")/common"

a_host node
init_begins
in_phase kube/packages "$running" || fail "the run ended early"
kill -INT "$running"
status=0
wait "$running" || status=$?
[ "$status" = 130 ] || fail "exit status $status, not 130"
events | tail -n 3 | grep >/dev/null '"did":"\(applied\|satisfied\)"' || fail "the running step was not finished"
absent node /var/lib/gpuadm/lock || fail "the lock is still held"
exits 0 init -y
has_a_cluster node
