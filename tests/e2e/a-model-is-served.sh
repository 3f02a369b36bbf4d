#!/usr/bin/env bash
# A model is served by a real llama-server: it answers with its key, refuses without it, holds its GPU, is stopped and started with the same
# key, and is deleted without a trace; one that cannot start is named with the last words of its engine. The model is tiny and has random
# weights. The GPUs are a double's: a pod gets none, but the scheduler counts them; so llama-server computes on the CPU.
. "$(dirname "$0")/common"

image=$(lab llama)
node_with_two_gpus "$image"
layer=$(tar -xOf "$image" manifest.json | jq -r '.[0].Layers[0]')
tar -xOf "$image" "$layer" >layer.tar
tar -xOf layer.tar --wildcards '*usr/share/gpuadm/tiny.gguf' >tiny.gguf
rm layer.tar
[ "$(head -c 4 tiny.gguf)" = GGUF ] || fail "the image has no model"

serve() { gpuadm serve "$1" "${@:2}" -f cluster.yaml; }
create() { gpuadm serve create "$1" --model models:/tiny.gguf --image lab.local/llama:1 --engine llama.cpp --context 512 -f cluster.yaml "${@:2}"; }
has_no_objects() {
  kube get deployments,pods,services,secrets,persistentvolumeclaims -A -l app.kubernetes.io/managed-by=gpuadm,gpuadm.io/kind=serve -o name >objects ||
    fail "the objects cannot be listed"
  [ ! -s objects ] || fail "objects are left: $(tr '\n' ' ' <objects)"
}
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }
key_file() { find .local/state/gpuadm -name "serve-default.$1.key"; }
key() { cat "$(key_file tiny)"; }
body='{"model":"tiny","prompt":"hello","max_tokens":8,"ignore_eos":true}'
# The status of a completion; with an argument, with that key.
completion() {
  local headers=(-H 'Content-Type: application/json')
  [ $# = 0 ] || headers+=(-H "Authorization: Bearer $1")
  lab net curl -sS -o answer -w '%{http_code}' "${headers[@]}" -d "$body" "http://$address/v1/completions"
}
opens() {
  : >seen
  "$top/tests/lab/lab" net "$GPUADM" serve url tiny -f cluster.yaml >seen 2>err </dev/null &
  running=$!
  seen_within 240 '^  address: http://127\.0\.0\.1:[0-9]+/v1'
  address=$(sed -n 's|^  address: http://\([0-9.:]*\)/v1.*|\1|p' seen)
}
closes() {
  kill -INT "$running"
  wait "$running" || fail "the tunnel did not end with Ctrl-C"
}

exits 0 serve list
complains "there are no served models"
exits 3 create tiny
complains "there is no claim models in the namespace default (claims there: none)"
exits 0 gpuadm storage add scratch local --host node --path /srv/scratch -f cluster.yaml -y
exits 0 gpuadm storage claim models --size 1Gi --on scratch -f cluster.yaml
folder=/srv/scratch/gpuadm-scratch/claims/default/models
on node "cat >$folder/tiny.gguf && chmod 0644 $folder/tiny.gguf" <tiny.gguf
exits 3 create tiny --gpus 3
complains "3 GPUs: more than the cluster has (node: 2 of 2 free)"
has_no_objects

exits 0 create tiny --gpus 1
says "the served model default/tiny is ready on node (1 GPU)"
says "refused without the key (401)"
says "gpuadm serve url tiny"
hides "$(key)"
is "$(stat -c %a "$(key_file tiny)")" 600
opens
is "$(completion "$(key)")" 200
jq -e '.choices | length == 1' answer >/dev/null || fail "not a completion"
is "$(completion)" 401
is "$(completion wrong)" 401
first=$(key)
# The key is in no command line on the host.
on node "ps -eo args" >processes || fail "the processes of the host cannot be read"
lacks -F "$first" processes || fail "the key is in a command line of the host"
closes
is "$(kube get pods -l gpuadm.io/name=tiny -o 'jsonpath={.items[0].spec.securityContext.runAsNonRoot}')" true

# It holds its GPU, and nothing may strand it.
exits 3 create other --gpus 2
complains "held by default/tiny-"
exits 3 create tiny --gpus 1
complains "the served model default/tiny already exists"
exits 0 gpuadm workload list -f cluster.yaml -o json
jq -e '.workloads[] | select(.kind == "serve") | .name == "tiny" and .state == "ready" and .gpus == "1"' out >/dev/null || fail "the list is wrong"
exits 0 serve show tiny -o json
jq -e '.model == "models:/tiny.gguf" and .engine == "llama.cpp" and .state == "ready"' out >/dev/null || fail "it is shown wrong"
exits 0 serve logs tiny
says "listening on http"
exits 0 serve bench tiny --clients 2 --seconds 3 --tokens 8 -o json
jq -e '.requests > 0 and .errors == 0 and .tokensPerSecond > 0 and .firstTokenP50 > 0' out >/dev/null || fail "the measurement is wrong"
exits 3 gpuadm reset -f cluster.yaml -y
complains "served model default/tiny (1 GPU on node)"

# Stopped, it holds none; started, it has the same key.
exits 0 serve stop tiny
says "its key is kept"
is "$(kube get pods -l gpuadm.io/kind=serve -o name)" ""
exits 3 serve url tiny
complains "gpuadm serve start tiny"
exits 0 serve start tiny
opens
is "$(key)" "$first"
is "$(completion "$first")" 200
closes

# A new one waits for no second GPU; two pods are both ready.
exits 0 create two --replicas 2 --node-port
says "the served model default/two is ready on node (no GPU, 2 pods)"
is "$(kube get deployment two -o 'jsonpath={.status.readyReplicas}')" 2
exits 0 serve delete two
exits 0 serve delete tiny
has_no_objects
[ -d .local/state/gpuadm ] || fail "gpuadm keeps its state elsewhere"
is "$(key_file tiny)" ""
is "$(on node "cat $folder/tiny.gguf | sha256sum")" "$(sha256sum <tiny.gguf)"

# A damaged model is refused before anything is created; what cannot be loaded is named with the words of the engine, and removed.
on node "head -c 4000 $folder/tiny.gguf >$folder/short.gguf && chmod 0644 $folder/short.gguf"
bad() { gpuadm serve create bad --model models:/short.gguf --engine llama.cpp --image lab.local/llama:1 -f cluster.yaml "$@"; }
exits 1 bad
complains "short.gguf"
has_no_objects
exits 1 bad --no-check
complains "the served model default/bad does not become ready: "
complains "short.gguf"
has_no_objects

# Ctrl-C in the middle leaves nothing.
interrupted 240 '^waiting for the image' serve create bad --model models:/tiny.gguf --engine llama.cpp --image 127.0.0.1:1/none:1 -f cluster.yaml
grep -qF "deleted what was created" seen || fail "it does not say that it was deleted"
has_no_objects
