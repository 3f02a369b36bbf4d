#!/usr/bin/env bash
# Faults of a host before init (tests/faults/lab.sh): the report's first line names each.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/injected-faults.sh
. "$top/tests/lib/injected-faults.sh"

a_host node
try_all preflight
ends
