#!/usr/bin/env bash
# What could not be written was not said.
. "$(dirname "$0")/common"

rc=0
gpuadm config schema >/dev/full 2>err || rc=$?
[ "$rc" = 1 ] || fail "exit code $rc"
complains "standard output could not be written: No space left on device"
