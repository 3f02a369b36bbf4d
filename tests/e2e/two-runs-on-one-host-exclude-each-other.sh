#!/usr/bin/env bash
# The second run names who holds the lock, and changes nothing.
. "$(dirname "$0")/common"

a_host node
init -y >first.out 2>first.err </dev/null &
in_phase os/modules $! || in_phase kube/packages $!
exits 3 init -y
grep -qF "the host is locked by another run: " out err || fail "it does not say who holds the lock"
wait $! || { cat first.out first.err && exit 1; }
