#!/usr/bin/env bash
# gpuadm up makes a bare host a cluster with a notebook after one question, and its page answers; killed in each stage and run again, it
# converges, and says what exists. Its time is printed next to that of the same commands by hand. The host has no GPU.
. "$(dirname "$0")/common"

a_host node
image=$(lab notebook)
on node 'ctr -n k8s.io images import -' <"$image" >/dev/null
words=(--notebook anna --size 64Mi --image lab.local/notebook:1)
start=(-- python3 -m notebook --ip=0.0.0.0 --port=8888 --allow-root --no-browser --notebook-dir=/home/jovyan/work)
up() { gpuadm up -f cluster.yaml --bundle "$bundle" "${words[@]}" "$@" "${start[@]}"; }
# up_begins ARGUMENT...: in the background, with its output in `seen`.
up_begins() {
  : >seen
  "$top/tests/lab/lab" net "$GPUADM" up -f cluster.yaml --bundle "$bundle" "${words[@]}" "$@" "${start[@]}" >seen 2>err </dev/null &
  running=$!
}
# answers: the page of the address in `seen`.
answers() {
  local url
  url=$(grep -oE 'http://[0-9.:]+/\?token=[0-9a-f]{48}' seen | head -n 1)
  [ "$(lab net curl -sS -L -c cookies -o page -w '%{http_code}' "$url")" = 200 ] || fail "the page does not answer"
}

# The preview lists the stages, and changes nothing; without a terminal there is no question.
exits 0 up --dry-run
says "1 doctor"
says "2 init"
says "steps are needed on node"
says "3 verify"
says "4 storage"
says "5 notebook"
says "6 tunnel"
complains "dry run: nothing was changed"
absent node /etc/kubernetes/admin.conf || fail "the preview changed the host"
exits 2 up
complains "no terminal to ask for confirmation"
absent node /etc/kubernetes/admin.conf || fail "the host was changed without a question"

# Killed in each stage: the next run continues.
killed=0
for stage in doctor init verify storage notebook; do
  up_begins -y
  case $stage in
    doctor) sleep 2 ;;
    init) in_phase kube/init "$running" || fail "init did not come to kubeadm" ;;
    *) seen_within 600 "^\[[0-9]/6\] $(case $stage in verify) echo init ;; storage) echo verify ;; notebook) echo storage ;; esac) " && sleep 1 ;;
  esac
  if kill -9 "$running"; then killed=$((killed + 1)); fi
  wait "$running" || true
done
[ "$killed" = 5 ] || fail "only $killed runs were killed"
up_begins -y
seen_within 900 '^notebook anna: http://127\.0\.0\.1:'
answers
grep -qE '^\[2/6\] init +nothing to do: the cluster exists' seen || grep -qE '^\[2/6\] init +[0-9]+ steps? changed' seen || fail "no line of init"
kill -INT "$running"
wait "$running" || fail "the tunnel did not end with Ctrl-C"

# Run again: everything exists.
began=$SECONDS
exits 0 up -y --no-tunnel
says "nothing to do: the cluster exists"
says "default/anna exists and is ready"
says "Cluster node: 1 node Ready"
says "gpuadm notebook url anna -f cluster.yaml"
echo "a run with nothing to do: $((SECONDS - began)) s"
exits 0 up -y --no-tunnel -o json
jq -e '[.stages[].name] == ["doctor","init","verify","storage","notebook"] and all(.stages[]; .state == "done")' out >/dev/null || fail "not the object of a run"

# On a terminal there is one question.
{ sleep 40 && echo y; } | lab net script -qec "$GPUADM up -f cluster.yaml --bundle $bundle ${words[*]} --no-tunnel ${start[*]}" /dev/null >out 2>&1 ||
  fail "up with a question failed"
[ "$(grep -cF 'Continue?' out)" = 1 ] || fail "there is not one question"
says "default/anna exists and is ready"

# From a bare host, against the same commands by hand.
lab down --all
rm -rf .local/state/gpuadm
a_host node
on node 'ctr -n k8s.io images import -' <"$image" >/dev/null
began=$(date +%s%N)
exits 0 gpuadm doctor -f cluster.yaml --fix -y --fail-on never
exits 0 init -y
exits 0 gpuadm verify -f cluster.yaml
says "Cluster is healthy"
exits 0 gpuadm notebook create anna -y --size 64Mi --image lab.local/notebook:1 -f cluster.yaml "${start[@]}"
by_hand=$((($(date +%s%N) - began) / 1000000))
# One verdict on every screen.
gpuadm doctor -f cluster.yaml --fail-on never >out 2>err || fail "doctor failed"
says "Cluster node is healthy"
gpuadm status -f cluster.yaml >out 2>err || fail "status failed"
says "Cluster is healthy"

lab down --all
rm -rf .local/state/gpuadm
a_host node
on node 'ctr -n k8s.io images import -' <"$image" >/dev/null
began=$(date +%s%N)
exits 0 up -y --no-tunnel
by_up=$((($(date +%s%N) - began) / 1000000))
echo "by hand $by_hand ms, up $by_up ms: $((by_up * 1000 / by_hand)) of 1000"
