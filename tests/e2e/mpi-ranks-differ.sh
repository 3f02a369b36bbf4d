#!/usr/bin/env bash
# Processes that mpirun starts have ranks of their own: two hosts with two slots have four, and PyTorch, which reads RANK and MASTER_ADDR,
# agrees with Open MPI. /etc/mpi/hostfile and the names of pods work without cluster DNS. A job whose manifest lets it start again is killed
# once, and ends well.
. "$(dirname "$0")/common"

image=$(lab training)
ready_nodes 1 one two
kube() { administer one "$@"; }
train() { gpuadm train "$1" -f cluster.yaml "${@:2}"; }
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }
kube taint nodes one node-role.kubernetes.io/control-plane:NoSchedule- >/dev/null 2>&1 || kube taint nodes one node-role.kubernetes.io/master:NoSchedule- >/dev/null 2>&1 || :
for name in one two; do on "$name" 'ctr -n k8s.io images import -' <"$image" >/dev/null & importing+=($!); done
together "the import of the image" "${importing[@]}"
cp -r "$top/tests/lib/train" source

# shellcheck disable=SC2016 # of the processes
report='echo "process $RANK of $WORLD_SIZE, local $LOCAL_RANK of $LOCAL_WORLD_SIZE on $(hostname)"'
exits 0 train run ranks --nodes 2 --gpus 0 --processes 2 --mpi --image lab.local/training:1 -- mpirun sh -c "$report"
for rank in 0 1 2 3; do says "process $rank of 4, local $((rank % 2)) of 2 on "; done
is "$(sed -n 's/.* on //p' out | sort | uniq -c | awk '{ print $1 }' | tr '\n' ' ')" "2 2 "
exits 0 train stop ranks

exits 0 train run agree --nodes 2 --gpus 0 --processes 2 --mpi --image lab.local/training:1 --src source -- mpirun python3 agree.py
for rank in 0 1 2 3; do says "process $rank is rank $rank of 4"; done
says "the sum of the ranks is 6"
exits 0 train stop agree

cat >mpijob.yaml <<'END_OF_MANIFEST'
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: { name: names }
spec:
  slotsPerWorker: 2
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: mpi
              image: lab.local/training:1
              command:
                - sh
                - -c
                - |
                  cat /etc/mpi/hostfile && /etc/mpi/discover_hosts.sh && mpirun -np 4 -hostfile /etc/mpi/hostfile sh -c 'echo "from the file: $RANK of $WORLD_SIZE on $(hostname)"' &&
                    mpirun -host names-worker-0.names-worker:2,names-worker-1:2 sh -c 'echo "by name: $RANK of $WORLD_SIZE on $(hostname)"'
    Worker:
      replicas: 2
      template: { spec: { containers: [{ name: mpi, image: "lab.local/training:1" }] } }
END_OF_MANIFEST
exits 0 gpuadm train run -f cluster.yaml -f mpijob.yaml
says "names-worker-1.names.default.svc slots=2"
for rank in 0 1 2 3; do
  says "from the file: $rank of 4 on names-worker-$((rank / 2))"
  says "by name: $rank of 4 on names-worker-$((rank / 2))"
done
exits 0 train stop names

cat >elastic.yaml <<'END_OF_MANIFEST'
apiVersion: v1
kind: ConfigMap
metadata: { name: elastic-settings }
data: { greeting: hello }
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: { name: elastic }
spec:
  elasticPolicy: { rdzvBackend: c10d, minReplicas: 1, maxReplicas: 4, maxRestarts: 1 }
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: lab.local/training:1
              envFrom: [{ configMapRef: { name: elastic-settings } }]
              command: [sh, -c, 'echo "attempt $GPUADM_ATTEMPT, $greeting, ends at $PET_RDZV_ENDPOINT"; if [ "$GPUADM_ATTEMPT" = 0 ] && [ "$RANK" = 1 ]; then exit 137; fi; sleep 5']
END_OF_MANIFEST
exits 0 gpuadm train run -f cluster.yaml -f elastic.yaml
says "[1] attempt 0, hello, ends at"
says "[1] attempt 1, hello, ends at"
complains "the job runs with 2 ranks"
complains "train/elastic: rank 1 failed"
complains "attempt 2 of 2"
complains "train/elastic: all 2 ranks succeeded"
exits 0 train stop elastic
is "$(kube get jobs,pods,services,secrets,configmaps -A -l app.kubernetes.io/managed-by=gpuadm -o name)" ""
