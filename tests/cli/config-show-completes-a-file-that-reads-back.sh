#!/usr/bin/env bash
# The completed file is a cluster file with the same meaning.
. "$(dirname "$0")/common"

cat >cluster.yaml <<'Y'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
hosts: [{ name: cp1, address: 192.0.2.1 }]
Y
exits 0 gpuadm config show cluster.yaml
says "podCIDR"
cp out full.yaml
exits 0 gpuadm config show full.yaml
diff full.yaml out
