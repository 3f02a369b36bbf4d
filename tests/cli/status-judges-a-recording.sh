#!/usr/bin/env bash
# gpuadm status shows a recording in every form, in 80 columns as text; refuses what does not go together; names who cannot be reached.
. "$(dirname "$0")/common"

cp -r "$top/data/recordings/node" kept
cp "$top/tests/cases/checks/base/cluster.txt" kept/
exits 1 gpuadm status --from kept
says "Kubernetes v1.33.4"
says "flannel, 2 of 2 ready"
says "problem found"
! awk 'length > 80' out | grep -q . || fail "a line is longer than 80 columns"
exits 1 gpuadm status --from kept -o wide
says "ADDRESS"
exits 1 gpuadm status --from kept -o json
jq -e '.well == false and (.nodes | map(.name)) == ["one", "two"] and (.problems | length) > 0' out >/dev/null || fail "the JSON is wrong"
exits 1 gpuadm status --from kept -o yaml
says "well: false"

exits 2 gpuadm status --from kept somehost
exits 2 gpuadm status --from kept --watch
complains "--watch cannot be combined with a recording"
exits 2 gpuadm status -o html

exits 2 gpuadm status --from "$top/tests/recordings/h200"
complains "none of these hosts is a control-plane node"
! grep -q . out || fail "a host without Kubernetes has a status"
rm kept/cluster.txt
exits 2 gpuadm status --from kept

printf '%s\n' 'apiVersion: gpuadm/v1alpha1' 'kind: GpuCluster' 'hosts: [{ name: cp1, address: 127.0.0.1, port: 1, user: me }]' >cluster.yaml
exits 4 gpuadm status -f cluster.yaml --ssh-client libssh2
says "cp1: "
says "the state is unknown: no control-plane node is reachable"
exits 4 gpuadm kubeconfig -f cluster.yaml --ssh-client libssh2
[ ! -e .kube ] || fail "a kubeconfig was made of nothing"
