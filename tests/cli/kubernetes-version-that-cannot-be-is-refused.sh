#!/usr/bin/env bash
# A Kubernetes version that no release can have is refused before any host is connected to, with what to type.
. "$(dirname "$0")/common"

for version in 1 2.0 1.36.x 1.36.2.1 1.36-rc.1 v1.x latest 1.36abc ""; do
  exits 2 gpuadm init --kubernetes-version "$version" --dry-run
  [ -z "$version" ] || { complains "invalid Kubernetes version: '$version'" && complains "--kubernetes-version 1.36"; }
  exits 2 gpuadm bundle create --for cluster.yaml -o b --kubernetes-version "$version"
done
exits 2 gpuadm upgrade --kubernetes-version 1.36.x
complains "invalid Kubernetes version: '1.36.x'"
exits 2 gpuadm runtime preview --engine containerd --kubernetes-version one
complains "invalid Kubernetes version: 'one'"
exits 2 gpuadm init --kubernetes-version 1.19 --dry-run
complains "gpuadm installs Kubernetes 1.20 and newer"
