#!/usr/bin/env bash
# gpuadm gpu top joins the processes of GPUs with pods and workloads, by the control plane or by the node alone, and a host whose
# nvidia-smi hangs delays no other. The GPUs are doubles of nvidia-smi; the pods and their control groups are real.
. "$(dirname "$0")/common"

admin() { on cp kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s "$@"; }
gpu=GPU-00112233-4455-6677-8899-aabbccddee0
double() { # double HOST
  tar -C "$top/tests/lab/gpu-double" -cf - h200x2 help-query-gpu.txt nvidia-smi |
    on "$1" "mkdir -p /usr/local/share/nvidia-smi-double && cd /usr/local/share/nvidia-smi-double && tar -xf - && mv h200x2/* . && install -m 0755 nvidia-smi /usr/bin/"
}
# pid_in POD: of its program on gpu1.
pid_in() {
  local uid
  uid=$(admin get pod "$1" -o 'jsonpath={.metadata.uid}')
  on gpu1 "grep -lsE '$uid|${uid//-/_}' /proc/[0-9]*/cgroup | cut -d/ -f3 | while read -r pid; do
    read -r name </proc/\$pid/comm && [ \"\$name\" = pause ] || echo \$pid; done | tail -n 1"
}

ready_nodes 1 cp gpu1
double cp
double gpu1
for pod in anna-0 plain; do
  labels=
  [ "$pod" = plain ] || labels='"metadata": { "labels": { "gpuadm.io/kind": "notebook", "gpuadm.io/name": "anna" } },'
  admin run "$pod" --image=lab.local/sleep:1 --image-pull-policy=Never --restart=Never \
    --overrides="'{ $labels \"spec\": { \"nodeName\": \"gpu1\" } }'" -- 0 "$pod" >/dev/null
  admin wait --for=condition=Ready "pod/$pod" --timeout=240s >/dev/null
done
notebook=$(pid_in anna-0) plain=$(pid_in plain)
[ -n "$notebook" ] && [ -n "$plain" ]
on gpu1 "cat >/run/nvidia-smi-double.programs" <<END_OF_LIST
${gpu}0, $notebook, 70000, /usr/bin/python3
${gpu}1, $plain, 2048, /opt/train
${gpu}1, 1, 100, /sbin/init
END_OF_LIST

exits 0 gpuadm gpu top -f cluster.yaml --interval 1 --count 2
says "4 GPUs on 2 hosts"
grep -q '^gpu1 .*notebook/anna' out || fail "the notebook is not shown"
grep -q '^gpu1 .*default/plain' out || fail "the pod is not shown"
exits 0 gpuadm gpu top -f cluster.yaml --interval 1 --count 1 -o json
of_gpu1() { jq -e --arg gpu "$1" ".gpus[] | select(.host == \"gpu1\" and .uuid == \$gpu) | .processes | $2" out >/dev/null; }
of_gpu1 "${gpu}0" 'length == 1 and (.[0] | .pod == "default/anna-0" and .kind == "notebook" and .workload == "anna" and .container != null)' ||
  fail "the notebook's process is wrong"
of_gpu1 "${gpu}1" '(.[] | select(.name == "/opt/train")) | .pod == "default/plain" and .kind == null' || fail "the pod's process is wrong"
of_gpu1 "${gpu}1" '(.[] | select(.pid == 1)) | .pod == null and .container == null' || fail "the host's process is in a pod"

# The dashboard of the same cluster, as a file.
exits 0 gpuadm dashboard -f cluster.yaml --interval 1 --count 2 -o html
sed -n 's|.*id="frozen-live">\(.*\)</script>|\1|p' out >live.json
sed -n 's|.*id="frozen-cluster">\(.*\)</script>|\1|p' out >cluster.json
jq -e --arg gpu "${gpu}0" '.gpus[] | select(.host == "gpu1" and .uuid == $gpu) | (.users[0].label == "notebook/anna")' live.json >/dev/null || fail "the page does not name the notebook"
jq -e '[.nodes[].name] | sort == ["cp", "gpu1"]' cluster.json >/dev/null || fail "the nodes are not on the page"
jq -e '.chains | length == 2 and all(.links | length > 3)' cluster.json >/dev/null || fail "the chains are not on the page"
jq -e '.workloads.workloads == []' cluster.json >/dev/null || fail "the workloads were not read: a Pod alone is none"

# The node alone knows names, and its container runtime the labels.
exits 0 gpuadm gpu top gpu1 -f cluster.yaml --count 1 -o json
of_gpu1 "${gpu}0" '.[0].pod == "default/anna-0"' || fail "the node does not name the pod"
if on gpu1 "command -v crictl" >/dev/null; then
  of_gpu1 "${gpu}0" '.[0].workload == "anna"' || fail "the node does not know the workload"
fi

# nvidia-smi hangs on one host: the other one is sampled meanwhile, and there is one process only.
on gpu1 "printf '#!/bin/sh\nexec sleep 300\n' >/usr/bin/nvidia-smi"
exits 0 gpuadm gpu top -f cluster.yaml --interval 1 --count 5 -o json
[ "$(jq -c 'select(.gpus | any(.host == "cp"))' out | wc -l)" = 5 ] || fail "the other host was not sampled five times"
jq -es '.[4].hosts[] | select(.host == "gpu1") | .state == "not-answering" and .seconds >= 3' out >/dev/null || fail "the host is not shown as hanging"
[ "$(on gpu1 'pgrep -fc "^sleep 300"')" -le 1 ] || fail "there is more than one nvidia-smi"
double gpu1

# A host that goes and comes back.
"$top/tests/lab/lab" net "$GPUADM" gpu top -f cluster.yaml --interval 1 >seen 2>err </dev/null &
running=$!
trap 'kill "$running" 2>/dev/null || true; lab down --all; rm -rf "$place"' EXIT
seen_within 240 '4 GPUs on 2 hosts'
lab link gpu1 down
seen_within 240 '^gpu1: not answering for'
: >seen
lab link gpu1 up
seen_within 240 '4 GPUs on 2 hosts'
kill -INT "$running"
status=0
wait "$running" || status=$?
[ "$status" = 130 ] || fail "exit status $status after Ctrl-C"
