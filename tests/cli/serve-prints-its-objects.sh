#!/usr/bin/env bash
# `gpuadm serve create -o yaml --offline` connects to no host, and prints objects that are as they would be created.
. "$(dirname "$0")/common"

create() { gpuadm serve create "$@" -o yaml --offline; }

exits 0 create llama --model models:/llama-8b --gpus 2 --context 32768
[ "$(grep -c '^kind: ' out)" = 3 ] || fail "not three objects"
for kind in Secret Service Deployment; do says "kind: $kind"; done
says "nvidia.com/gpu: 2"
says '- "--tensor-parallel-size"'
says '- "--max-model-len"'
says "claimName: models"
says "readOnly: true"
says "name: VLLM_API_KEY"
says "runAsNonRoot: true"
# The oldest CUDA of the catalog, as the driver is unknown.
says "image: $(gpuadm assets show playbooks/catalog.yaml | grep -o 'docker.io/vllm/vllm-openai[^"]*' | tail -n 1)"

# The key is different each time, long, and only in the Secret.
key() { sed -n 's/^ *key: *"\{0,1\}\([0-9a-f]\{48\}\)"\{0,1\}$/\1/p' out; }
first=$(key)
[ ${#first} = 48 ] || fail "the key has ${#first} characters"
[ "$(grep -c "$first" out)" = 1 ] || fail "the key is in more than one place"
exits 0 create llama --model models:/llama-8b --gpus 1
[ "$(key)" != "$first" ] || fail "the key is not random"
! grep -rqF "$first" .local 2>/dev/null || fail "the key was stored"

# A GGUF file is served by llama.cpp, also without a GPU.
exits 0 create tiny --model models:/tiny.gguf
says "- /model/tiny.gguf"
says "name: LLAMA_API_KEY"
lacks -F nvidia.com out || fail "it requests a GPU"

# A model of a hub is downloaded to a volume, with a token from a file that others cannot read.
(umask 077 && echo hf_secret >token)
exits 0 env HF_ENDPOINT=https://hub.example.org "$GPUADM" serve create qwen --model hf:Qwen/Qwen3-8B@main --size 50Gi --gpus 1 \
  --hf-token-file token -o yaml --offline
says "kind: PersistentVolumeClaim"
says "hub-token: hf_secret"
says "value: https://hub.example.org"
says '- "--revision"'
[ "$(grep -c hf_secret out)" = 1 ] || fail "the token is in more than one place"

# MIG instances, and another server than those of the catalog.
exits 0 create llama --model models:/llama-8b --mig 1g.10gb
says "nvidia.com/mig-1g.10gb: 1"
exits 0 gpuadm serve create mine --image registry.example.org/mine:1 --server-port 9000 --health /ready -o yaml --offline -- --threads 4
says "path: /ready"
says "containerPort: 9000"
says '- "--threads"'

# On a storage of the cluster file, the first part of the path is the claim.
printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: gpu1, address: 127.0.0.1, port: 1 }]\nstorage: [{ name: data, kind: local, host: gpu1, path: /srv/data }]\n' >cluster.yaml
exits 0 create llama --model data:/models/llama-8b --gpus 1 -f cluster.yaml
says "claimName: models"
says "- /model/llama-8b"
