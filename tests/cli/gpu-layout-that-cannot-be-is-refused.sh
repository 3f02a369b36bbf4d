#!/usr/bin/env bash
# What the GPUs cannot be is refused before anything is connected to, with its place in the file.
. "$(dirname "$0")/common"

file() { printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nkubernetes: { version: "1.33" }\n%s\nhosts: [{ name: gpu1, address: 127.0.0.1, port: 1 }]\n' "$1" >cluster.yaml; }

file 'gpu: { sharing: { mps: 2 }, mig: { devices: { 1g.18gb: 7 } } }'
exits 2 gpuadm init -f cluster.yaml -y
complains "cluster.yaml:4:"
complains "MPS cannot share MIG instances"
file 'gpu: { mig: { devices: { 1g.18gb: 3, 3g.71gb: 1 } } }'
exits 2 gpuadm config lint cluster.yaml
complains "single requires instances of one size"
file 'gpu: { allocator: dra, sharing: { timeSlicing: 2 } }'
exits 2 gpuadm config lint cluster.yaml
complains "gpu.sharing: requires the device plugin"
file 'gpu: { sharing: { timeSlicing: 1 } }'
exits 2 gpuadm config lint cluster.yaml
complains "cluster.yaml:4:"
file 'gpu: { models: { NVIDIA H2000: { sharing: exclusive } } }'
exits 3 gpuadm config lint cluster.yaml
says "NVIDIA H2000 is not a known GPU model"
says "line 4"
says "did you mean NVIDIA H200?"
file 'gpu: { models: { H200: { sharing: exclusive } } }'
exits 0 gpuadm config lint cluster.yaml
