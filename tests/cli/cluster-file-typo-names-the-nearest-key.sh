#!/usr/bin/env bash
# An unknown key: file:line:column, the nearest key, exit 2.
. "$(dirname "$0")/common"

cat >cluster.yaml <<'Y'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
netwrok: { plugin: flannel }
hosts:
  - { name: cp1, address: 192.0.2.1, rolle: worker }
Y
exits 2 gpuadm config lint -f cluster.yaml
complains "cluster.yaml:3:1:"
complains "network"
complains "cluster.yaml:5:"
complains "role"
exits 2 gpuadm doctor -f cluster.yaml
complains "cluster.yaml:3:1:"
