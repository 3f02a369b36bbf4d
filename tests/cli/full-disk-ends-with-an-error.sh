#!/usr/bin/env bash
# What could not be written was not said.
. "$(dirname "$0")/common"

rc=0
gpuadm config schema >/dev/full 2>err || rc=$?
[ "$rc" = 1 ] || fail "exit code $rc"
complains "cannot write to standard output: No space left on device"
