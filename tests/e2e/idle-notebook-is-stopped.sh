#!/usr/bin/env bash
# A notebook of a real Jupyter with --stop-idle: when neither Jupyter nor its GPU is used, its log warns, it is stopped, and the list says why;
# one whose kernel computes stays. gpu top --idle names who holds a GPU and does not use it. The GPU is a double's, whose utilization the test sets.
. "$(dirname "$0")/common"

kube() { administer node "$@"; }
create() { gpuadm notebook create "$1" --image lab.local/notebook:1 -f cluster.yaml "${@:2}" -- python3 -m notebook --ip=0.0.0.0 --port=8888 --allow-root --no-browser --notebook-dir=/tmp; }
replicas() { kube get deployment "$1" -o 'jsonpath={.spec.replicas}'; }
gpu_works_at() { on node "sed -i 's|<gpu_util>[^<]*|<gpu_util>$1 %|' /usr/local/share/nvidia-smi-double/nvidia-smi-q-x.xml"; }
idle_on_node() { kube get node node -o 'jsonpath={.metadata.annotations.gpuadm\.io/gpus-idle-since}'; }
is_listed() { idle_on_node | grep -q "$(kube get pods -l gpuadm.io/name=anna -o 'jsonpath={.items[0].metadata.uid}')"; }
is_stopped() { [ "$(replicas "$1")" = 0 ]; }
is_warned() { grep -q 'gpuadm: this notebook is idle for .* and is stopped in' "$1.log"; }
# Their logs are kept: those of a pod that has ended are gone.
both_are_warned() {
  local name
  for name in anna ben carol; do ! kube logs "deployment/$name" >now 2>/dev/null || cp now "$name.log"; done
  is_warned anna && is_warned ben
}

lab up node --gpu h200
"$top/tests/lib/lab-cluster" --control-planes 1 node >cluster.yaml
exits 0 init -y --skip-phases gpu
own_libraries node
on node 'ctr -n k8s.io images import -' <"$(lab notebook)" >/dev/null
on node 'ctr -n k8s.io images import -' <"$(lab device-plugin)" >/dev/null
gpu=$(sed -n 's|.*<uuid>\(GPU-[^<]*\).*|\1|p' "$top/tests/lab/gpu-double/h200/nvidia-smi-q-x.xml" | head -n 1)
sed "s/COUNT/$gpu/" "$top/tests/lab/device-plugin/manifest.yaml" | kube apply -f - >/dev/null
has_gpu() { [ "$(kube get node node -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')" = 1 ]; }
within 240 "the GPU of the device plugin" has_gpu

exits 2 create anna --stop-idle 1m
complains "--stop-idle 1m is not between 5m and 30d"
exits 2 create anna --stop-idle soon
complains "invalid duration: 'soon'"
exits 0 create anna --gpus 1 --stop-idle 5m
complains "gpuadm health enable"
exits 1 gpuadm gpu top --idle -f cluster.yaml
says "node: unknown, because its health checks do not report"

# A GPU that works, although no program of the pod is seen on it, may be used.
gpu_works_at 90
exits 0 gpuadm health enable -f cluster.yaml --interval 10 --skip gpu.driver,gpu.cdi,nct -y
reports() { [ "$(kube get node node -o "jsonpath={.status.conditions[?(@.type=='GPUHealthy')].status}")" = True ]; }
within 240 "the health checks" reports
exits 0 gpuadm gpu top --idle -f cluster.yaml
says "every pod that holds GPUs uses them"
[ -z "$(idle_on_node)" ] || fail "a pod whose GPU works is idle: $(idle_on_node)"

# One that does not is not used.
gpu_works_at 0
within 60 "the idle pod" is_listed
exits 0 gpuadm gpu top --idle -f cluster.yaml
says "notebook default/anna"
exits 0 gpuadm gpu top --idle -f cluster.yaml -o json
jq -e '.idle | length == 1 and .[0].node == "node" and .[0].gpus == 1 and .[0].workload == "anna"' out >/dev/null || fail "the list is wrong"

# Two notebooks without GPUs: the kernel of one computes and prints nothing.
exits 0 create ben --stop-idle 5m
exits 0 create carol --stop-idle 5m
: >seen
"$top/tests/lab/lab" net "$GPUADM" notebook url carol -f cluster.yaml >seen 2>err </dev/null &
running=$!
seen_within 240 '^http://127\.0\.0\.1:[0-9]+/\?token=[0-9a-f]{48}$'
url=$(cat seen) port=${url#http://127.0.0.1:} token=${url##*token=}
lab net "$top/tests/lib/run-cell" 127.0.0.1 "${port%%/*}" "$token" 'import time; time.sleep(3000)' >cell 2>&1 &
cell=$!
is_busy() { lab net curl -sS -H "Authorization: token $token" "http://127.0.0.1:${port%%/*}/api/kernels" | jq -e 'any(.execution_state == "busy")' >/dev/null; }
within 60 "the kernel to compute" is_busy
kill -KILL "$cell"
kill -INT "$running"
wait "$running" || fail "the tunnel did not end with Ctrl-C"

within 480 "the warnings of anna and ben" both_are_warned
for name in anna ben; do within 240 "the end of $name" is_stopped "$name"; done
no_pods() { [ -z "$(kube get pods -l 'gpuadm.io/name in (anna, ben)' -o name)" ]; }
within 60 "the pods of anna and ben to end" no_pods
exits 0 gpuadm notebook list -f cluster.yaml
says "stopped: idle for 5m"
[ "$(replicas carol)" = 1 ] || fail "a notebook whose kernel computes was stopped"
! is_warned carol || fail "a notebook whose kernel computes was warned"
exits 0 gpuadm health history -f cluster.yaml
says "warned the notebook default/anna"
says "stopped the notebook default/anna, idle for"
nobody_is_listed() { [ -z "$(idle_on_node)" ]; }
within 60 "nobody to hold the GPU" nobody_is_listed

# Started again, it is as new; without health checks nothing is left.
exits 0 gpuadm notebook start anna -f cluster.yaml
[ -z "$(kube get deployment anna -o 'jsonpath={.metadata.annotations.gpuadm\.io/stopped}')" ] || fail "a started notebook says why it was stopped"
exits 0 gpuadm notebook list -f cluster.yaml
says "ready"
within 60 "the idle pod" is_listed
exits 0 gpuadm health disable -f cluster.yaml -y
[ -z "$(idle_on_node)" ] || fail "the annotation is left: $(idle_on_node)"
absent node /var/lib/gpuadm/health || fail "the folder of the health checks is left"
