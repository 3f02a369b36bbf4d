#!/usr/bin/env bash
# The links of the chain have names, and a host that is in no cluster has no chain to walk.
. "$(dirname "$0")/common"

exits 2 gpuadm verify --only driver,pods
complains "unknown link: pods"
complains "did you mean pod?"
exits 0 gpuadm verify --help
says "network, dns, driver"
[ ! -e /etc/kubernetes/admin.conf ] || skip "this machine is a control plane"
exits 2 gpuadm verify
complains "none of these hosts is a control-plane node"
