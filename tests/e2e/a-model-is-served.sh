#!/usr/bin/env bash
# A model is served by a real llama-server: it answers OpenAI's client with its key, refuses without it, holds its GPU, is stopped and started
# with the same key, is updated without a failed request, is there after a reboot, through the same tunnel, and is deleted without a trace; one
# that cannot start is named with the last words of its engine, and an update that fails is undone. A model of this machine is copied once. The model is tiny and has random
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
create() { gpuadm serve create "$1" --model models:/tiny.gguf --image lab.local/llama:1 --engine llama.cpp --context "${context:-512}" -f cluster.yaml "${@:2}"; }
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
# OpenAI's client, from npm, with the key; prints the number of choices.
openai_folder=${GPUADM_CACHE:-/var/cache/gpuadm}/openai-client
needs_openai() {
  command -v npm >/dev/null || skip "npm is not installed"
  [ -e "$openai_folder/node_modules/openai/package.json" ] ||
    npm install --prefix "$openai_folder" --no-audit --no-fund openai@4.104.0 >npm.log 2>&1 || skip "npm cannot install openai: $(tail -n 1 npm.log)"
}
openai_choices() {
  # Node finds the client in the folder of the program.
  cat >"$openai_folder/ask-$$.js" <<'END'
const { OpenAI } = require("openai");
const client = new OpenAI({ baseURL: process.argv[2], apiKey: require("fs").readFileSync(process.argv[3], "utf8").trim(), maxRetries: 0 });
(async () => {
  const models = await client.models.list();
  if (!models.data.some((model) => model.id === "tiny")) throw new Error("the model is not listed");
  const answer = await client.completions.create({ model: "tiny", prompt: "hello", max_tokens: 8 });
  let parts = 0;
  const stream = await client.completions.create({ model: "tiny", prompt: "hello", max_tokens: 8, stream: true });
  for await (const part of stream) parts += part.choices.length;
  console.log(answer.choices.length, parts > 0);
})().catch((error) => { console.error(String(error)); process.exit(1); });
END
  lab net node "$openai_folder/ask-$$.js" "http://$address/v1" "$1" || { rm -f "$openai_folder/ask-$$.js" && return 1; }
  rm -f "$openai_folder/ask-$$.js"
}
# load FILE: completions, one after the other, until the file `stop` exists; a line for each that is not answered with 200.
load() {
  local status
  : >requests
  while [ ! -e stop ]; do
    status=$(curl -sS -m 60 -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -H "Authorization: Bearer $1" \
      -d '{"model":"two","prompt":"hello","max_tokens":8}' "http://$address/v1/completions" 2>>load.err) || status="$status:$?"
    echo "$status" >>requests
  done
}
is_answered() { [ "$(completion "$1")" = 200 ]; }
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

needs_openai
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
is "$(openai_choices "$(key_file tiny)")" "1 true"
# What the catalog says of its metrics.
is "$(lab net curl -sS -o /dev/null -w '%{http_code}' "http://$address/metrics")" 401
is "$(lab net curl -sS -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $(key)" "http://$address/metrics")" 200
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
exits 0 create tiny --gpus 1
says "the served model default/tiny is as requested"
context=1024 exits 3 create tiny --gpus 1
complains "the served model default/tiny already exists"
complains "command: --ctx-size 512 -> --ctx-size 1024"
complains "new pods are ready before the earlier ones end"
exits 0 gpuadm workload list -f cluster.yaml -o json
jq -e '.workloads[] | select(.kind == "serve") | .name == "tiny" and .state == "ready" and .gpus == "1"' out >/dev/null || fail "the list is wrong"
exits 0 serve show tiny -o json
jq -e '.model == "models:/tiny.gguf" and .engine == "llama.cpp" and .state == "ready" and (.imageDigest | startswith("sha256:"))' out >/dev/null ||
  fail "it is shown wrong"
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

# A new one waits for no second GPU; two pods are both ready. An update under load fails no request.
exits 0 create two --replicas 2 --node-port
says "the served model default/two is ready on node (no GPU, 2 pods)"
is "$(kube get deployment two -o 'jsonpath={.status.readyReplicas}')" 2
address=$(sed -n 's|^  address: http://\([0-9.:]*\)/v1.*|\1|p' out)
export address
export -f load
# shellcheck disable=SC2016 # expanded by the inner shell
lab net bash -c 'load "$1"' load "$(cat "$(key_file two)")" &
loading=$!
pids+=("$loading")
within 60 "requests before the update" grep -q 200 requests
context=1024 exits 0 create two --replicas 2 --node-port -y
complains "command: --ctx-size 512 -> --ctx-size 1024"
complains "new pods are ready before the earlier ones end"
says "the served model default/two is ready on node (no GPU, 2 pods)"
sleep 15 # the earlier pods answer until they have ended
touch stop
wait "$loading"
grep -vx 200 requests >failures || :
[ ! -s failures ] || fail "$(wc -l <failures) of $(wc -l <requests) requests failed: $(sort failures | uniq -c | tr '\n' ' ') $(tail -n 3 load.err)"
[ "$(wc -l <requests)" -gt 20 ] || fail "there were only $(wc -l <requests) requests"
printf 'update under load: %s requests, none failed\n' "$(wc -l <requests)"
kube get pods -l gpuadm.io/name=two -o json | jq -e '[.items[] | select(.metadata.deletionTimestamp == null) | .spec.containers[0].command | index("1024")] | length == 2 and all' >/dev/null ||
  fail "a pod has the earlier context, or there are not two"
exits 0 serve delete two

# Without a spare GPU, its pods end first; an update that fails is undone.
exits 0 create tiny --gpus 2 -y
complains "its pods end first, and requests fail until the new ones are ready: no GPU is spare"
complains "GPUs: 1 -> 2"
says "the served model default/tiny is ready on node (2 GPUs)"
on node "head -c 4000 $folder/tiny.gguf >$folder/short.gguf && chmod 0644 $folder/short.gguf"
exits 1 gpuadm serve create tiny --model models:/short.gguf --engine llama.cpp --image lab.local/llama:1 --gpus 2 --no-check -f cluster.yaml -y
complains "the update of the served model default/tiny failed"
complains "restored the earlier configuration of default/tiny"
exits 0 create tiny --gpus 1 -y

# Its tunnel is opened again after its connection was lost, and after a reboot of the node.
opens
is "$(key)" "$first"
is "$(completion "$first")" 200
lab cut node
within 60 "the tunnel to be open again" grep -q 'is open again' err
is "$(completion "$first")" 200
lab reboot node
within 400 "an answer after the reboot, through the same tunnel" is_answered "$first"
closes
exits 0 serve delete tiny

# A model of this machine is copied by its content, once, and continues where a copy ended.
copied() { gpuadm serve create copied --model ./mine.gguf --image lab.local/llama:1 --engine llama.cpp --context 512 -f cluster.yaml "$@"; }
cp tiny.gguf mine.gguf
sum=$(sha256sum <mine.gguf | cut -c1-64)
copy=mine.gguf.$(printf '%s  mine.gguf\n' "$sum" | sha256sum | cut -c1-12)
on node "mkdir -m 0755 $folder/$copy && head -c 1000 $folder/tiny.gguf >$folder/$copy/.mine.gguf.${sum:0:16}.part"
exits 0 copied
complains "the claim models has the file of the model on node"
complains "1000 B already there"
is "$(on node "sha256sum <$folder/$copy/mine.gguf" | cut -c1-64)" "$sum"
is "$(on node "ls -A $folder/$copy")" mine.gguf
exits 0 serve show copied -o json
jq -e --arg model "models:/$copy/mine.gguf" '.model == $model and (.modelSha256 | length == 64)' out >/dev/null || fail "its digest is not shown"
exits 0 copied
complains "0 B copied"
says "the served model default/copied is as requested"
# Other content has another folder, and other pods; the earlier copy stays as it is.
pods=$(kube get pods -l gpuadm.io/name=copied -o name)
printf '\0' >>mine.gguf
exits 0 copied -y
complains "files: "
[ "$(kube get pods -l gpuadm.io/name=copied -o name)" != "$pods" ] || fail "the pod with the earlier model is left"
is "$(on node "sha256sum <$folder/$copy/mine.gguf" | cut -c1-64)" "$sum"
exits 0 serve delete copied
has_no_objects
[ -d .local/state/gpuadm ] || fail "gpuadm keeps its state elsewhere"
is "$(key_file tiny)" ""
is "$(on node "cat $folder/tiny.gguf | sha256sum")" "$(sha256sum <tiny.gguf)"

# A damaged model is refused before anything is created; what cannot be loaded is named with the words of the engine, and removed.
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
