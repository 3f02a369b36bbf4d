#!/usr/bin/env bash
# Of two hosts that are watched one drops its connection, loses its cable and comes back: it is reported and tried again, and the
# other one is checked meanwhile.
. "$(dirname "$0")/common"

lab up one --image bookworm-bare
lab up two --image bookworm-bare
"$top/tests/lib/lab-cluster" one two >cluster.yaml
on one sysctl -qw net.ipv4.ip_forward=1
on two sysctl -qw net.ipv4.ip_forward=1

"$top/tests/lab/lab" net "$GPUADM" doctor -f cluster.yaml --watch=1 --only kernel.sysctl.ip-forward >seen 2>err </dev/null &
running=$!
trap 'kill "$running" 2>/dev/null || true; lab down --all; rm -rf "$place"' EXIT
sleep 3
[ ! -s seen ] || { cp seen out && fail "nothing was wrong, and something was said"; }
on one sysctl -qw net.ipv4.ip_forward=0
seen_within 60 ' new .* one .*kernel.sysctl.ip-forward'

# A dropped connection is made again; at most one look was lost.
lab cut one
sleep 4
lab link one down
seen_within 240 ' new .* one blocker host.ssh.reachable'
! grep -q ' gone .* one .*ip-forward' seen || { cp seen out && fail "the findings of a lost host were removed"; }
on two sysctl -qw net.ipv4.ip_forward=0
seen_within 60 ' new .* two .*kernel.sysctl.ip-forward'
lab link one up
seen_within 240 ' gone .* one blocker host.ssh.reachable'
on one sysctl -qw net.ipv4.ip_forward=1
seen_within 240 ' gone .* one .*kernel.sysctl.ip-forward'
kill -INT "$running"
status=0
wait "$running" || status=$?
[ "$status" = 130 ] || fail "exit status $status after Ctrl-C"
