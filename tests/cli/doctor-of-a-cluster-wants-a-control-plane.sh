#!/usr/bin/env bash
# The stage "cluster" asks a control plane; where none of the hosts is one, it says so.
. "$(dirname "$0")/common"

exits 0 gpuadm doctor --list --only gk. -o json
jq -e 'length > 0 and all(.[]; .stages == "cluster")' out
[ ! -e /etc/kubernetes/admin.conf ] || skip "this machine is a control plane"
exits 2 gpuadm doctor --stage cluster
complains "none of these hosts is a control-plane node"
