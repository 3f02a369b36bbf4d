#!/usr/bin/env bash
# With -f, targets are names from the file.
. "$(dirname "$0")/common"

cat >cluster.yaml <<'Y'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
hosts: [{ name: control1, address: 192.0.2.1 }, { name: gpu1, address: 192.0.2.2, role: worker }]
Y
exits 2 gpuadm facts -f cluster.yaml contrl1
complains "contrl1"
complains "did you mean control1?"
