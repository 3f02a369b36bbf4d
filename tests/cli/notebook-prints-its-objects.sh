#!/usr/bin/env bash
# `gpuadm notebook create -o yaml --offline` connects to no host, and prints objects that are as they would be created.
. "$(dirname "$0")/common"
needs jq

create() { gpuadm notebook create "$@" -o yaml --offline; }

exits 0 create anna --gpus 2 --size 10Gi --memory 32Gi
[ "$(grep -c '^kind: ' out)" = 4 ] || fail "not four objects"
for kind in PersistentVolumeClaim Secret Service Deployment; do says "kind: $kind"; done
says "nvidia.com/gpu: 2"
says "runtimeClassName: nvidia"
says "sizeLimit: 16384Mi"
says "type: Recreate"
# The oldest CUDA of the catalog, as the driver is unknown.
says "image: $(gpuadm assets show playbooks/catalog.yaml | grep -o 'quay.io/jupyter/pytorch-notebook:cuda12[^"]*')"

# The token is different each time, long, and only in the Secret.
token() { sed -n 's/^ *token: *"\{0,1\}\([0-9a-f]*\)"\{0,1\}$/\1/p' out; }
first=$(token)
[ ${#first} = 48 ] || fail "the token has ${#first} characters"
[ "$(grep -c "$first" out)" = 1 ] || fail "the token is in more than one place"
exits 0 create anna
[ "$(token)" != "$first" ] || fail "the token is not random"
! grep -rqF "$first" .local 2>/dev/null || fail "the token was stored"

# A command is passed word by word.
exits 0 gpuadm notebook create anna --image lab.local/jupyter:1 -o yaml --offline -- jupyter lab --ip=0.0.0.0 "a b"
says "- jupyter"
says '- "--ip=0.0.0.0"'
says "- a b"

# The cluster file decides how GPUs are requested.
printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nkubernetes: { version: "1.34" }\ngpu: { allocator: dra }\nhosts: [{ name: gpu1, address: 127.0.0.1, port: 1 }]\n' >cluster.yaml
exits 0 create anna --gpus 1 -f cluster.yaml
says "kind: ResourceClaimTemplate"
says "resourceClaimTemplateName: anna"
