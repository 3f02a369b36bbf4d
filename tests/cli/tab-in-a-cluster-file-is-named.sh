#!/usr/bin/env bash
# A tab in place of blanks is called a tab.
. "$(dirname "$0")/common"

printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts:\n\t- { name: a, address: 192.0.2.1 }\n' >cluster.yaml
exits 2 gpuadm config lint cluster.yaml
complains 'cluster.yaml:4:'
complains 'indented with a tab; YAML allows only spaces'
