#!/usr/bin/env bash
# The API server does not answer while a training job or a notebook starts: the read is repeated, and nothing is ended or deleted. kubectl is a
# double.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/kubectl-double.sh
. "$top/tests/lib/kubectl-double.sh"

# Two reads fail after what starts the pods.
cat >bin/kubectl <<'END'
#!/bin/sh
cd "${0%/*}/.." || exit 1
while [ "${1#--}" != "$1" ]; do [ "$1" != --kubeconfig ] || shift; shift; done
echo "$*" >>calls
case " $* " in
  *' logs '*) echo '2026-11-26T12:00:00.000000001Z epoch 1' ;;
  *' wait '*) ;;
  *' create '*) cat >/dev/null && touch started && echo job.batch/one ;;
  *' patch '*) touch started && echo deployment.apps/one ;;
  *' get '*)
    [ -e started ] || exec cat before.json
    fails=$(cat fails) && [ "$fails" = 0 ] || {
      echo $((fails - 1)) >fails
      echo 'The connection to the server 10.0.0.1:6443 was refused' >&2 && exit 1
    }
    cat after.json
    ;;
esac
END
chmod +x bin/kubectl
list() { printf '{"kind":"List","items":[%s]}' "$1"; }
labels() { printf '"namespace":"default","labels":{"gpuadm.io/kind":"%s","gpuadm.io/name":"one"}' "$1"; }
# starts COMMAND...: the calls are in the file calls.
starts() {
  rm -f started calls
  echo 2 >fails
  exits 0 gpuadm --assets over "$@"
  [ "$(cat fails)" = 0 ] || fail 'the reads did not fail'
  complains 'The connection to the server 10.0.0.1:6443 was refused; repeated for 60s'
}

job() { # STATUS
  printf '{"kind":"Job","metadata":{"name":"one",%s},"spec":{"completions":1,"parallelism":1,"template":{"metadata":{},"spec":{"containers":[{"name":"rank","env":[{"name":"GPUADM_CHECKPOINT_DIR","value":"/data"},{"name":"GPUADM_ATTEMPT","value":"0"}]}]}}},"status":{"conditions":[{"type":"%s","status":"True"}]}}' "$(labels train)" "$1"
}
rank='{"kind":"Pod","metadata":{"name":"one-0","namespace":"default","labels":{"gpuadm.io/kind":"train","gpuadm.io/name":"one","batch.kubernetes.io/job-completion-index":"0"}},"spec":{"nodeName":"gpu1","containers":[{"name":"rank"}]},"status":{"phase":"Succeeded"}}'
list "$(job Failed)" >before.json
list "$(job Complete),$rank" >after.json
starts train resume one
says '[0] epoch 1'
if grep patch calls; then fail 'the ranks were ended'; fi

deployment() { printf '{"kind":"Deployment","metadata":{"name":"one",%s},"spec":{"replicas":%s},"status":{"replicas":%s,"updatedReplicas":%s,"readyReplicas":%s}}' "$(labels notebook)" "$1" "$1" "$1" "$1"; }
pod="{\"kind\":\"Pod\",\"metadata\":{\"name\":\"one-0\",$(labels notebook)},\"spec\":{\"nodeName\":\"gpu1\"},\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"
list "$(deployment 0)" >before.json
list "$(deployment 1),$pod" >after.json
starts notebook start one
says 'the notebook default/one is ready on gpu1'
[ "$(grep -c patch calls)" = 1 ] || fail "the notebook was stopped again: $(cat calls)"
