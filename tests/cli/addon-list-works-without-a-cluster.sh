#!/usr/bin/env bash
# gpuadm addon list without hosts shows the catalogue on a machine without a cluster, and says that no state was read; a named host must answer.
. "$(dirname "$0")/common"

[ ! -e /etc/kubernetes/admin.conf ] || skip "this machine has a cluster"
exits 0 gpuadm addon list
says "prometheus"
says "jupyterhub"
says "unknown"
complains "no cluster was read: "
complains "gpuadm addon list -f cluster.yaml shows the states"
exits 0 gpuadm addon list -o json
jq -e '.addons | length > 3 and all(.[]; .state == "unknown")' out >/dev/null || fail "a state is claimed"
exits 4 gpuadm addon list 127.0.0.1:9 --host-key-checking accept-new
