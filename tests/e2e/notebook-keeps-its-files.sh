#!/usr/bin/env bash
# A notebook of a real Jupyter: it responds through its tunnel, runs a cell, opens a shell, gets another size, keeps its file over stop and start and over a power failure of
# its node, and is deleted without a trace; one that cannot start is named and removed. The GPUs are a double's: a pod gets none, but the scheduler counts them.
. "$(dirname "$0")/common"

image=$(lab notebook)
node_with_two_gpus "$image"
# A class without a provisioner: a claim gets the volume that exists.
kube apply -f - >/dev/null <<'END'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: manual, annotations: { storageclass.kubernetes.io/is-default-class: "true" } }
provisioner: kubernetes.io/no-provisioner
---
apiVersion: v1
kind: PersistentVolume
metadata: { name: folder }
spec:
  capacity: { storage: 2Gi }
  accessModes: [ReadWriteOnce]
  storageClassName: manual
  persistentVolumeReclaimPolicy: Retain
  hostPath: { path: /srv/notebook, type: DirectoryOrCreate }
END

notebook() { gpuadm notebook "$1" "${@:2}" -f cluster.yaml; }
create() { gpuadm notebook create "$1" --image lab.local/notebook:1 -f cluster.yaml "${@:2}" -- python3 -m notebook --ip=0.0.0.0 --port=8888 --allow-root --no-browser --notebook-dir=/home/jovyan/work; }
objects() { kube get deployments,pods,services,secrets,persistentvolumeclaims -A -l app.kubernetes.io/managed-by=gpuadm -o name | sort | tr '\n' ' '; }
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }

# The address of a notebook through a tunnel that stays open: sets $url, $port, $token and $running.
opens() {
  : >seen # of an earlier tunnel
  "$top/tests/lab/lab" net "$GPUADM" notebook url "$1" -f cluster.yaml >seen 2>err </dev/null &
  running=$!
  seen_within 240 '^http://127\.0\.0\.1:[0-9]+/\?token=[0-9a-f]{48}$'
  url=$(cat seen) port=${url#http://127.0.0.1:} token=${url##*token=}
  port=${port%%/*}
}
closes() {
  kill -INT "$running"
  wait "$running" || fail "the tunnel did not end with Ctrl-C"
  ! lab net bash -c "</dev/tcp/127.0.0.1/$port" 2>/dev/null || fail "the port of the tunnel is still open"
}
cell() { lab net "$top/tests/lib/run-cell" 127.0.0.1 "$port" "$token" "$1"; }

# Nothing exists yet, and nothing is created where it cannot be.
exits 0 gpuadm workload list -f cluster.yaml
complains "there are no workloads"
exits 3 create anna --gpus 3
complains "3 GPUs: more than the cluster has (node: 2 of 2 free)"
exits 3 create anna -n nowhere
complains "the namespace nowhere does not exist"
exits 3 create anna --storage nothing
complains "nothing is neither a PersistentVolumeClaim nor a storage nor a StorageClass"
is "$(objects)" ""

exits 0 create anna --gpus 2 --size 1Gi --memory 512Mi
says "the notebook default/anna is ready on node (2 GPUs)"
says "gpuadm notebook url anna"
opens anna
hides "$token"
is "$(lab net curl -sS -o status -w '%{http_code}' "http://127.0.0.1:$port/api/status")" 403
is "$(lab net curl -sS -o status -w '%{http_code}' -H "Authorization: token $token" "http://127.0.0.1:$port/api/status")" 200
is "$(lab net curl -sS -L -c cookies -o page -w '%{http_code}' "$url")" 200
is "$(cell 'print(6 * 7)')" 42
is "$(cell 'import os; print(open("/home/jovyan/work/kept", "w").write("text"), os.statvfs("/dev/shm").f_blocks > 0)')" "4 True"
# The token is in no command line on the host and in none here, and in no file of gpuadm.
on node "ps -eo args" >processes || fail "the processes of the host cannot be read"
lacks -F "$token" processes || fail "the token is in a command line of the host"
! pgrep -f -- "$token" || fail "the token is in a command line"
[ ! -e .local ] || lacks -F "$token" .local || fail "the token was stored"
closes

# A command in it has its input, its exit status, and words that arrive as they are; a shell has a terminal.
status=0
gpuadm notebook shell anna -f cluster.yaml -- sh -c 'cat; printf "%s|" "$@"; exit 7' sh 'a b' "c'\$(d)" <<<input >out 2>err || status=$?
is "$status" 7
says "input"
says "a b|c'\$(d)|"
exits 2 notebook shell anna
complains "a shell needs a terminal"
# shellcheck disable=SC2016 # the pod's bash
printf 'tty; echo seen-$((6 * 7)); exit\n' | lab net script -qec "'$GPUADM' notebook shell anna -f cluster.yaml" /dev/null >seen || fail "the shell failed: $(cat seen)"
grep -qF /dev/pts/ seen || fail "the shell has no terminal: $(cat seen)"
grep -qF seen-42 seen || fail "the shell ran no command: $(cat seen)"

# It holds both GPUs, and nobody may strand it.
exits 3 create bob --gpus 1
complains "held by default/anna-"
exits 3 create anna --gpus 1
complains "the notebook default/anna already exists"
exits 0 gpuadm workload list -f cluster.yaml -o json
jq -e '.workloads | length == 1 and .[0].kind == "notebook" and .[0].state == "ready" and .[0].gpus == "2" and .[0].node == "node"' out >/dev/null ||
  fail "the list is wrong"
exits 3 gpuadm reset -f cluster.yaml -y
complains "1 workload would end: notebook default/anna (2 GPUs on node)"

# Stopped, it holds none, and a second one runs; its file is there again afterwards.
exits 0 notebook stop anna
says "its files are kept on the volume anna"
is "$(kube get pods -o name)" ""
exits 3 notebook url anna
complains "gpuadm notebook start anna"
exits 0 notebook list
says "stopped"
exits 0 create bob --gpus 1 --node-port
says "ready on node (1 GPU)"
exits 0 notebook url bob
grep -qE '^http://[0-9.]+:[0-9]+/\?token=[0-9a-f]{48}$' out || fail "not an address"
is "$(lab net curl -sS -L -c cookies -o page -w '%{http_code}' "$(cat out)")" 200
exits 3 notebook start anna
complains "2 GPUs: needed, but not free now"
exits 0 notebook delete bob
exits 0 notebook start anna
opens anna
is "$(cell 'print(open("/home/jovyan/work/kept").read())')" text
closes

# Another size: asked for, with its file; what cannot be changes nothing, and what does not start gets its earlier size again.
sizes() { kube get deployment anna -o 'jsonpath={.spec.template.spec.containers[0].resources.limits}'; }
exits 3 notebook resize anna --gpus 1
complains "add -y"
exits 3 notebook resize anna --gpus 3 -y
complains "3 GPUs: more than the cluster has"
before=$(sizes)
exits 0 notebook resize anna --gpus 1 --memory 768Mi -y
complains "GPUs: 2 -> 1"
complains "memory: 512Mi -> 768Mi"
says "the notebook default/anna is ready on node (1 GPU)"
exits 0 gpuadm notebook shell anna -f cluster.yaml -- cat /home/jovyan/work/kept
says text
exits 1 notebook resize anna --memory 6Mi --wait-timeout 120 -y
complains "has its earlier size again"
exits 0 notebook stop anna
exits 0 notebook resize anna --gpus 2 --memory 512Mi
says "its next start has the new size"
[ "$(sizes | jq -S .)" = "$(jq -S . <<<"$before")" ] || fail "it does not have its first size: $(sizes), not $before"
exits 0 notebook resize anna --gpus 2
says "is as requested"
exits 0 notebook start anna

# It is there again after a power failure of its node, with its file and its GPUs.
began=$(date -u +%FT%TZ)
lab reboot node
wait_for_nodes node "$began"
is_ready() {
  [[ "$(kube get pods -o 'jsonpath={.items[0].status.containerStatuses[0].state.running.startedAt}')" > $began ]] &&
    gpuadm notebook list -f cluster.yaml -o json 2>err | jq -e '.workloads[0].state == "ready"'
}
within 240 "the notebook to be ready after the reboot" is_ready
opens anna
is "$(cell 'print(open("/home/jovyan/work/kept").read())')" text
closes
exits 0 gpuadm workload list -f cluster.yaml -o json
jq -e '.workloads[0].state == "ready" and .workloads[0].gpus == "2"' out >/dev/null || fail "it is not ready with its GPUs after the reboot"

# The volume is deleted only if that is requested; a new notebook of this name uses it.
exits 2 notebook delete anna
complains "--keep-volume"
exits 0 notebook delete anna --keep-volume
is "$(objects)" "persistentvolumeclaim/anna "
exits 0 create anna
complains "using the volume of the earlier notebook default/anna"
opens anna
is "$(cell 'print(open("/home/jovyan/work/kept").read())')" text
closes
exits 0 notebook delete anna --purge
says "with its volume anna"
is "$(objects)" ""

# A volume on a storage of gpuadm: a claim as of gpuadm storage claim, which belongs to the notebook.
exits 0 gpuadm storage add scratch local --host node --path /srv/scratch -f cluster.yaml -y
folder=/srv/scratch/gpuadm-scratch/claims/default/carol
exits 3 create carol --storage scratch
complains "add --size"
exits 0 create carol --storage scratch --size 1Gi
opens carol
is "$(cell 'print(open("/home/jovyan/work/kept", "w").write("text"))')" 4
closes
is "$(on node "cat $folder/kept")" text
exits 0 gpuadm storage list -f cluster.yaml -o json
jq -e '.storage[0].claims == ["default/carol"]' out >/dev/null || fail "the storage does not have the claim"
exits 0 notebook delete carol --keep-volume
exits 0 create carol
complains "using the volume of the earlier notebook default/carol"
exits 0 notebook delete carol --purge
is "$(objects)" ""
is "$(kube get persistentvolumes -l app.kubernetes.io/managed-by=gpuadm -o name)" ""
absent node "$folder" || fail "the files were not deleted"
exits 1 gpuadm notebook create carol --image 127.0.0.1:1/none:1 --storage scratch --size 1Gi -f cluster.yaml
absent node "$folder" || fail "the folder of a notebook that did not start is left"
is "$(kube get persistentvolumes -l app.kubernetes.io/managed-by=gpuadm -o name)" ""

# What cannot start is explained, and removed; or kept, and explained again.
exits 1 gpuadm notebook create kept --keep --image 127.0.0.1:1/none:1 -f cluster.yaml
complains "details: gpuadm explain pod default/kept -f cluster.yaml"
exits 1 gpuadm explain pod default/kept -f cluster.yaml
says "127.0.0.1:1"
exits 0 notebook delete kept
exits 1 gpuadm notebook create bad --image lab.local/notebook:1 -f cluster.yaml -- no-such-program
complains "no-such-program"
is "$(objects)" ""
exits 1 gpuadm notebook create bad --image 127.0.0.1:1/none:1 -f cluster.yaml
complains "the notebook default/bad does not become ready: "
complains "127.0.0.1:1"
is "$(objects)" ""

# Ctrl-C in the middle leaves nothing.
interrupted 240 '^waiting for the image' notebook create bad --image 127.0.0.1:1/none:1 --gpus 1 -f cluster.yaml
grep -qF "deleted what was created" seen || fail "it does not say that it was deleted"
is "$(objects)" ""
