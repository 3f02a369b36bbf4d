#!/usr/bin/env bash
# The command of the engine ollama, with a double of the program: the server gets the context, the model is created from its file once the
# server answers, and the container ends with the server, or if the model cannot be created.
. "$(dirname "$0")/common"
needs python3

exits 0 gpuadm serve create tiny --model models:/a/tiny.gguf --engine ollama --context 4096 -o yaml --offline
lacks -F 'kind: Secret' out || fail "there is a Secret without a key"
says 'gpuadm.io/no-key'
says 'path: /v1/models/tiny'
python3 - <<'END' || skip "python3 has no yaml"
import yaml
END
python3 - <<'END'
import yaml
for document in yaml.safe_load_all(open("out")):
    if document["kind"] == "Deployment":
        words = document["spec"]["template"]["spec"]["containers"][0]["command"]
open("words", "w").write("\0".join(words))
END
mkdir bin
cat >bin/ollama <<'END'
#!/bin/sh
echo "$* context=${OLLAMA_CONTEXT_LENGTH:-}" >>"$HOME/calls"
case $1 in
  serve)
    echo "$$" >"$HOME/pid"
    sleep 1
    : >"$HOME/ready"
    trap 'exit 0' TERM
    while :; do sleep 0.1; done
    ;;
  list) [ -e "$HOME/ready" ] ;;
  create) cat "$4" >>"$HOME/calls" && [ ! -e "$HOME/broken" ] ;;
esac
END
chmod 0755 bin/ollama
mapfile -d '' -t words <words
start() {
  rm -f calls ready
  HOME=$PWD PATH=$PWD/bin:$PATH "${words[@]}" &
  server=$!
}
start
for _ in $(seq 100); do ! grep -qs '^FROM' calls || break; sleep 0.1; done
grep -qx 'serve context=4096' calls || fail "the server has no context"
grep -qx "create tiny -f $PWD/Modelfile context=4096" calls || fail "the model was not created"
grep -qx 'FROM /model/a/tiny.gguf' calls || fail "it was created from something else"
kill -TERM "$server"
wait "$server" || fail "it did not end with the server"
: >broken
start
# In a container, the server ends with the first process.
! wait "$server" || fail "a model that cannot be created is not an error"
kill "$(cat pid)"
