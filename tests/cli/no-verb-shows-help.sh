#!/usr/bin/env bash
# Without a verb the help is shown, as an error.
. "$(dirname "$0")/common"

exits 2 gpuadm
complains "doctor"
exits 0 gpuadm --help
says "Exit codes"
