#!/usr/bin/env bash
# gpuadm up refuses options that do not fit together before it connects, with the place, the reason and what to type; its preview changes
# nothing.
. "$(dirname "$0")/common"

# refused MESSAGE HINT ARGUMENT...
refused() {
  exits 2 gpuadm up "${@:3}"
  complains "$1"
  complains "$2"
}
refused "--gpus: no notebook is requested" "add --notebook NAME" --gpus 1 nowhere.invalid
refused "--size: no notebook is requested" "add --notebook NAME" --size 1Gi nowhere.invalid
refused "--no-tunnel: no notebook is requested" "add --notebook NAME" --no-tunnel nowhere.invalid
refused "-- COMMAND: no notebook is requested" "add --notebook NAME" nowhere.invalid -- jupyter lab
refused "--local-port: no tunnel is opened with --no-tunnel" "leave out one of them" --notebook anna --no-tunnel --local-port 8888 nowhere.invalid
refused "a.invalid b.invalid: up makes one machine a cluster" "gpuadm up -f cluster.yaml" a.invalid b.invalid
refused "a.invalid: up works on all hosts of the cluster file c.yaml" "leave out the host, or leave out -f" -f c.yaml a.invalid
refused "-o json: no question can be asked" "add -y, or --dry-run" -o json nowhere.invalid
refused "--size" "did you mean 10Gi?" --notebook anna --size 10 nowhere.invalid
refused "invalid name of a notebook: Anna" "lowercase letters" --notebook Anna nowhere.invalid
refused "--gpus: not a number of GPUs: some" "for example --gpus 1" --notebook anna --gpus some nowhere.invalid
exits 2 gpuadm up --dry-run -y
exits 2 gpuadm up --notebok anna
complains "did you mean --notebook?"

# A host that does not answer is named; nothing is asked.
exits 4 gpuadm up --notebook anna --dry-run 127.0.0.1:9 --host-key-checking accept-new
complains "127.0.0.1"
exits 4 gpuadm up --notebook anna -y -o json 127.0.0.1:9 --host-key-checking accept-new
jq -e '.stages == [.stages[0]] and .stages[0].name == "doctor" and .stages[0].state == "failed"
  and .notebook == {namespace: "default", name: "anna", url: ""}' out >/dev/null || fail "not the object of a failed run"
complains "stopped at doctor: run the same command again to continue"

# On this machine: the preview lists its stages, or says what is in the way. It changes nothing.
status=0
gpuadm up --dry-run >out 2>err </dev/null || status=$?
case $status in
  0) says "2 init" && complains "dry run: nothing was changed" ;;
  3) [ -s err ] || fail "it does not say what is in the way" ;;
  *) fail "the exit status is $status" ;;
esac
