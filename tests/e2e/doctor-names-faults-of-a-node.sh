#!/usr/bin/env bash
# Faults of a node and of its cluster (tests/faults/lab.sh): the report's first line names each.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/injected-faults.sh
. "$top/tests/lib/injected-faults.sh"

ready_nodes 1 node
try_all node
on_node all_is_ready >ready.log 2>&1 || fail "$(tail -n 3 ready.log)"
try_all cluster
ends
