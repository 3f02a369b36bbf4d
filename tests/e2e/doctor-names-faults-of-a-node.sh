#!/usr/bin/env bash
# Faults of a node and of its cluster (tests/faults/lab.sh): the report's first line names each.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/injected-faults.sh
. "$top/tests/lib/injected-faults.sh"

# Not a fork: on its overlay containerd does not see that a file of /etc/cni/net.d is back, which came from the saved host.
a_host node
exits 0 init -y
try_all node
on_node all_is_ready >ready.log 2>&1 || fail "$(on node kubectl --kubeconfig /etc/kubernetes/admin.conf describe node | sed -n '/^Conditions/,/^Addresses/p') $(tail -n 3 ready.log)"
try_all cluster
ends
