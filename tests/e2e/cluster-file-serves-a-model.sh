#!/usr/bin/env bash
# A served model of the cluster file: refused with its place before anything changes, compared, served by apply, updated, left as it is by a
# second apply and while it is stopped. The GPUs are a double's, and llama-server computes on the CPU: see a-model-is-served.
. "$(dirname "$0")/common"

image=$(lab llama)
node_with_two_gpus "$image"
layer=$(tar -xOf "$image" manifest.json | jq -r '.[0].Layers[0]')
tar -xOf "$image" "$layer" >layer.tar
tar -xOf layer.tar --wildcards '*usr/share/gpuadm/tiny.gguf' >tiny.gguf
rm layer.tar
[ "$(head -c 4 tiny.gguf)" = GGUF ] || fail "the image has no model"
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }
exits 0 gpuadm storage add scratch local --host node --path /srv/scratch -f cluster.yaml -y
exits 0 gpuadm storage claim models --size 1Gi --on scratch -f cluster.yaml
folder=/srv/scratch/gpuadm-scratch/claims/default/models
on node "cat >$folder/tiny.gguf && chmod 0644 $folder/tiny.gguf" <tiny.gguf

described() { # described ITEM...: serve.yaml, the cluster file with these models
  cp cluster.yaml serve.yaml
  printf 'serve:\n' >>serve.yaml
  printf '  - %s\n' "$@" >>serve.yaml
}
tiny() { # tiny CONTEXT GPUS
  printf '{ name: tiny, model: "models:/tiny.gguf", image: lab.local/llama:1, engine: llama.cpp, context: %s, gpus: %s }' "$1" "$2"
}
live() { # live FILE: the objects of served models, without their status
  kube get deployments,services,secrets -A -l gpuadm.io/kind=serve -o json |
    jq -c '.items[] | [.kind, .metadata.uid, .metadata.generation, .metadata.annotations["gpuadm.io/configuration"], .data, .spec.type]' >"$1"
}

described '{ name: tiny, model: "models:/tiny.gguf", engine: vlm, gpus: 1 }'
exits 3 gpuadm apply -f serve.yaml -y
complains "serve tiny: --engine: unknown engine vlm"
described "$(tiny 512 3)"
exits 3 gpuadm diff -f serve.yaml
complains "3 GPUs: more than the cluster has"
live objects
[ ! -s objects ] || fail "something was made: $(cat objects)"

described "$(tiny 512 1)"
exits 1 gpuadm diff -f serve.yaml
says "Serve the model tiny"
live objects
[ ! -s objects ] || fail "diff has made something: $(cat objects)"
exits 0 gpuadm apply -f serve.yaml -y
says "the served model default/tiny is ready on node (1 GPU)"
says "refused without the key (401)"
key=$(cat .local/state/gpuadm/*/serve-default.tiny.key)
hides "$key"
exits 0 on node grep -q 'name: tiny' /etc/kubernetes/gpuadm/cluster.yaml
live before
exits 0 gpuadm apply -f serve.yaml -y
says "nothing to do"
exits 0 gpuadm diff -f serve.yaml
live after
cmp before after || fail "the second apply has changed an object"

# Another context is an update; the key stays.
described "$(tiny 1024 1)"
exits 1 gpuadm diff -f serve.yaml
says "-command: --ctx-size 512"
says "+command: --ctx-size 1024"
exits 0 gpuadm apply -f serve.yaml -y
says "answered: "
is "$(cat .local/state/gpuadm/*/serve-default.tiny.key)" "$key"
exits 0 gpuadm diff -f serve.yaml

# A stopped one stays stopped, and one that the file does not list stays, too.
exits 0 gpuadm serve stop tiny -f serve.yaml
exits 0 gpuadm apply -f serve.yaml -y
says "is stopped and stays so: gpuadm serve start tiny"
is "$(kube get pods -l gpuadm.io/kind=serve -o name)" ""
exits 0 gpuadm serve start tiny -f serve.yaml
exits 0 gpuadm apply -f cluster.yaml -y
is "$(kube get deployment tiny -o 'jsonpath={.status.readyReplicas}')" 1
exits 0 gpuadm serve delete tiny -f serve.yaml --keep-volume
live objects
[ ! -s objects ] || fail "objects are left: $(cat objects)"

# An image of one's own: its server says that its API is OpenAI's, and what its model is called.
exits 0 gpuadm serve create own --model models:/tiny.gguf --image lab.local/llama:1 --server-port 9000 --health /health --key-variable LLAMA_API_KEY \
  -f cluster.yaml -- /app/llama-server --model /model/tiny.gguf --ctx-size 512 --alias other --host 0.0.0.0 --port 9000
says "answered: "
says "refused without the key (401)"
exits 0 gpuadm serve delete own -f cluster.yaml
