#!/usr/bin/env bash
# Real training on two nodes, from an image of Debian's packages. PyTorch on Fashion-MNIST: two ranks end with the same parameters. A rank
# that is killed ends the others, and the command fails. Open MPI with mpi4py on two hosts. A PyTorchJob and an MPIJob, written as the
# examples of their projects are, run on plain Kubernetes. Nothing is left afterwards. No rank has a GPU.
. "$(dirname "$0")/common"

image=$(lab training)
ready_nodes 1 one two
kube() { administer one "$@"; }
train() { gpuadm train "$1" -f cluster.yaml "${@:2}"; }
objects() { kube get jobs,pods,services,secrets,configmaps -A -l app.kubernetes.io/managed-by=gpuadm -o name | sort | tr '\n' ' '; }
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }
# took BEGAN WHAT: a line for the reader.
took() { printf '%s: %s s\n' "$2" "$((SECONDS - $1))"; }

kube taint nodes one node-role.kubernetes.io/control-plane:NoSchedule- >/dev/null 2>&1 || kube taint nodes one node-role.kubernetes.io/master:NoSchedule- >/dev/null 2>&1 || :
began=$SECONDS
for name in one two; do on "$name" 'ctr -n k8s.io images import -' <"$image" >/dev/null & importing+=($!); done
together "the import of the image" "${importing[@]}"
took "$began" "import of the image on both nodes"
# The import keeps the disk busy, and a node whose kubelet cannot report is not Ready.
for _ in $(seq 30); do
  ! kube wait --for=condition=Ready nodes --all --timeout=5s >/dev/null 2>&1 || break
  sleep 2
done
cp -r "$top/tests/lib/train" source

# --- Checks of the image -----------------------------------------------------------------------------------

check() { train check job --nodes 2 --gpus 0 --image "$@" -- true; }
# found NODE ID: the result.
found() { jq -r --arg host "$1" --arg id "$2" '.findings[] | select(.host == $host and .id == $id) | .result' out; }
exits 0 check lab.local/training:1 --mpi -o json
for name in one two; do
  for id in present architecture mpi; do is "$name $id $(found "$name" "train.image-$id")" "$name $id pass"; done
done
exits 3 check lab.local/sleep:1 --mpi
says "the image lab.local/sleep:1 has no sshd and no ssh"
exits 3 check 10.77.0.1:1/none:1
says "the node cannot reach the registry of the image 10.77.0.1:1/none:1"
exits 3 train run job --nodes 2 --gpus 0 --image 10.77.0.1:1/none:1 -- true
complains "cannot reach the registry"
is "$(objects)" ""
# One node without the image is enough if there is only one rank.
on two 'ctr -n k8s.io images rm lab.local/sleep:1' >/dev/null
exits 0 train check job --gpus 0 --image lab.local/sleep:1 -o json -- true
is "$(found one train.image-present) $(found two train.image-pull)" "pass fail"
for name in one two; do on "$name" '! ctr -n k8s.io leases ls | grep gpuadm && ! ls /run/gpuadm-image.* 2>/dev/null' || fail "a view of an image is left on $name"; done

# --- An all-reduce in the image --------------------------------------------------------------------------------

began=$SECONDS
exits 0 check lab.local/training:1 -o json
took "$began" "gpuadm train check with an all-reduce"
complains "an all-reduce between 2 ranks, as train/job-check"
jq -r '.findings[] | select(.id == "train.all-reduce") | "\(.result): \(.message): \(.evidence)"' out
is "$(jq -r '.findings[] | select(.id == "train.all-reduce") | .result' out)" pass
jq -e '.findings[] | select(.id == "train.all-reduce") | .message | test("2 ranks over gloo has [0-9.]+ GB/s")' out >/dev/null || fail "no bandwidth"
is "$(objects)" ""
# gloo does not find its interface: the job would fail the same way.
exits 3 check lab.local/training:1 --env GLOO_SOCKET_IFNAME=nowhere0
says "nowhere0"
is "$(objects)" ""
exits 0 check lab.local/training:1 --env GLOO_SOCKET_IFNAME=nowhere0 --ignore train.all-reduce
# Before a run only if that is requested, and then nothing runs if it fails.
exits 3 train run job --nodes 2 --gpus 0 --image lab.local/training:1 --all-reduce --env GLOO_SOCKET_IFNAME=nowhere0 -- true
is "$(objects)" ""
# Ctrl-C during it leaves nothing.
interrupted 120 '^waiting for train/job-check' train check job -f cluster.yaml --nodes 2 --gpus 0 --image lab.local/training:1 -- true
is "$(objects)" ""

# --- PyTorch ---------------------------------------------------------------------------------------------

began=$SECONDS
exits 0 train run fashion --nodes 2 --gpus 0 --image lab.local/training:1 --src source -- python3 fashion.py 1
took "$began" "gpuadm train run, one epoch"
for rank in 0 1; do grep -qE "^\[$rank\] rank $rank of 2 met at [0-9.]+$" out || fail "rank $rank did not meet the other"; done
complains "rank 0 runs on"
complains "train/fashion: all 2 ranks succeeded"
is "$(grep -cE '^\[[01]\] parameters [0-9a-f]{64}$' out)" 2
is "$(grep -oE 'parameters [0-9a-f]{64}' out | sort -u | wc -l)" 1
grep -oE '(parameters|accuracy|seconds|epoch) .*' out
awk '$2 == "accuracy" { found = 1; if ($3 < 0.8) exit 1 } END { if (!found) exit 1 }' out || fail "it has not learned"
is "$(sed -n 's/^rank [01] runs on //p' err | sort -u | tr '\n' ' ')" "one two "
exits 0 train status fashion
says "Succeeded"
exits 0 train logs fashion --rank 0
says "accuracy"
exits 0 train stop fashion
is "$(objects)" ""

# --- A rank that is killed ---------------------------------------------------------------------------------

train run killed --nodes 2 --gpus 0 --image lab.local/training:1 --src source -- python3 fashion.py 1000 >seen 2>err </dev/null &
running=$!
seen_within 240 '^\[1\] epoch 0'
node=$(sed -n 's/^rank 1 runs on //p' err)
began=$SECONDS
on "$node" 'pkill -9 -f "^python3 fashion.py 1000"'
status=0
wait "$running" || status=$?
took "$began" "from the kill to the end of the command"
cp seen out
is "$status" 1
complains "train/killed failed: rank 1 on $node: Error: container rank was killed with SIGKILL"
for _ in $(seq 240); do
  [ -n "$(kube get pods --field-selector=status.phase=Running -o name)" ] || break
  sleep 1
done
is "$(kube get pods --field-selector=status.phase=Running -o name)" ""
exits 0 train status killed
says "Failed"
exits 0 train stop killed
is "$(objects)" ""

# --- Open MPI ------------------------------------------------------------------------------------------------

began=$SECONDS
exits 0 train run solver --nodes 2 --gpus 0 --processes 2 --mpi --image lab.local/training:1 --src source -- mpirun python3 allreduce.py
took "$began" "gpuadm train run --mpi"
says "[0] sum 10 of 4 processes on 2 hosts"
grep -F ' processes on ' out
complains "train/solver: all 2 ranks succeeded"
exits 0 train stop solver
is "$(objects)" ""

# The exit code of mpirun is that of the job.
exits 1 train run fails --nodes 2 --gpus 0 --mpi --image lab.local/training:1 -- mpirun sh -c 'exit 7'
complains "train/fails failed: rank 0 on"
complains "exit code 7"
exits 0 train stop fails

# --- Manifests of other systems ------------------------------------------------------------------------------

cat >pytorchjob.yaml <<'END_OF_MANIFEST'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: pytorch-fashion
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: lab.local/training:1
              imagePullPolicy: IfNotPresent
              command: [python3, fashion.py, "1"]
    Worker:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: lab.local/training:1
              imagePullPolicy: IfNotPresent
              command: [python3, fashion.py, "1"]
END_OF_MANIFEST
began=$SECONDS
exits 0 gpuadm train run -f cluster.yaml -f pytorchjob.yaml --src source
took "$began" "a PyTorchJob"
complains "train/pytorch-fashion: all 2 ranks succeeded"
is "$(grep -oE 'parameters [0-9a-f]{64}' out | sort -u | wc -l)" 1
exits 0 train stop pytorch-fashion

# As a user other than root, whose home directory is a volume because all files of the image are root's, with a launcher that does no work.
cat >mpijob.yaml <<'END_OF_MANIFEST'
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: mpi-sum
spec:
  slotsPerWorker: 1
  runPolicy:
    cleanPodPolicy: Running
  sshAuthMountPath: /home/trainer/.ssh
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: mpi-launcher
              image: lab.local/training:1
              securityContext:
                runAsUser: 1000
              command: [mpirun]
              args: ["-n", "2", python3, /workspace/allreduce.py]
              volumeMounts: [{ name: home, mountPath: /home/trainer }]
          volumes: [{ name: home, emptyDir: {} }]
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: mpi-worker
              image: lab.local/training:1
              securityContext:
                runAsUser: 1000
              command: [/usr/sbin/sshd]
              args: ["-De", "-f", /home/trainer/.sshd_config]
              volumeMounts: [{ name: home, mountPath: /home/trainer }]
          volumes: [{ name: home, emptyDir: {} }]
END_OF_MANIFEST
began=$SECONDS
exits 0 gpuadm train run -f cluster.yaml -f mpijob.yaml --src source
took "$began" "an MPIJob"
says "[0] sum 3 of 2 processes on 2 hosts"
complains "train/mpi-sum: all 3 ranks succeeded"
exits 0 train stop mpi-sum
is "$(objects)" ""
