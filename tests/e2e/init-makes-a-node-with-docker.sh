#!/usr/bin/env bash
# Kubernetes 1.20 through dockershim: the node is Ready and pods run.
. "$(dirname "$0")/common"

has_dockershim || skip "$(no_dockershim)"
a_host node --image "$(lab fitting docker)"
echo 'runtime: { engine: docker }' >>cluster.yaml
exits 0 init -y
has_a_cluster node
on node kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o wide >out
says "docker://"
exits 0 init -y
says "0 changed"
