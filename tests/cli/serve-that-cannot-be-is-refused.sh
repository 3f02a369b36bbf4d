#!/usr/bin/env bash
# Wrong options of `gpuadm serve` are refused before a host is contacted.
. "$(dirname "$0")/common"

printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: gpu1, address: 127.0.0.1, port: 1 }]\n' >cluster.yaml
create() { gpuadm serve create "$@" -f cluster.yaml; }

exits 2 create Llama --model models:/m --gpus 1
complains "invalid name of a served model: Llama: 'L' is not allowed"
exits 2 create llama --gpus 1
complains "--model is missing"
exits 2 create llama --model models:/m
complains "--gpus: vllm needs a GPU"
exits 2 create llama --model models:/m --engine vlm --gpus 1
complains "--engine: unknown engine vlm"
complains "vllm, sglang, llama.cpp"
exits 2 create llama --model ./tiny.gguf
complains "./tiny.gguf: no such file"
printf 'PK' >tiny.gguf
exits 1 create llama --model ./tiny.gguf
complains "is not a GGUF file"
exits 2 create llama --model models:/m.gguf --engine ollama --node-port
complains "--node-port: ollama has no API key, so that everyone in the network could use the model"
complains "--without-key"
exits 2 create llama --model models:/m --gpus 1 --node-port --without-key
complains "--without-key: the server has an API key"
exits 2 create llama --model hf:org/m-GGUF --engine ollama --size 10Gi
complains "with ollama, the model must be on a claim"
exits 2 create llama --model hf:Qwen/Qwen3-8B --gpus 1 -o yaml --offline
complains "--size 50Gi for a new volume"
exits 2 create llama --model models:/m --gpus 1 --mig 1g.10gb
complains "--mig"
exits 2 create llama --model models:/m --gpus 1.5
complains "--gpus: not a number of GPUs: 1.5"
exits 2 create llama --image a/b:1
complains "needs the port of the server"
exits 2 create llama --model models:/m --gpus 1 --offline
complains "--offline creates nothing"
exits 2 create llama --model models:/m --gpus 1 --node-port --tunnel
echo hf_secret >token
chmod 0644 token
exits 2 create llama --model hf:Qwen/Qwen3-8B --size 50Gi --gpus 1 --hf-token-file token
complains "token"
hides hf_secret
exits 2 env HF_ENDPOINT=nothing "$GPUADM" serve create llama --model hf:A/B --size 50Gi --gpus 1 -o yaml --offline
complains "HF_ENDPOINT: not an address"
exits 2 gpuadm serve delete llama --keep-volume --purge -f cluster.yaml

# A host that does not respond is named, and nothing else is said.
for verb in url stop start show delete; do
  exits 4 gpuadm serve "$verb" llama -f cluster.yaml
  complains "gpu1"
done
exits 4 gpuadm serve list -f cluster.yaml
exits 4 create llama --model models:/m --gpus 1
complains "gpu1"
