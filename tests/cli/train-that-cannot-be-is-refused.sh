#!/usr/bin/env bash
# Wrong options and manifests of `gpuadm train run` are refused before a host is contacted, with what to type; valid ones become objects.
. "$(dirname "$0")/common"

run() { gpuadm train run "${name:-mnist}" -o yaml --offline --image "${image:-a}" "$@" -- a; }

# Variables by which the ranks find each other.
for variable in RANK WORLD_SIZE MASTER_ADDR MASTER_PORT NODE_RANK PET_NNODES JOB_COMPLETION_INDEX GPUADM_POD_IP; do
  exits 2 run --nodes 2 --env $variable=2
  complains "--env $variable: gpuadm sets this variable itself"
done
exits 2 run --nodes 2 --mpi --env OMPI_MCA_plm_rsh_args=x
complains "--env OMPI_MCA_plm_rsh_args: gpuadm sets"
exits 2 run --nodes 2 --tf --env TF_CONFIG=x
exits 2 run --storage d --env GPUADM_CHECKPOINT_DIR=/x
exits 0 run --env TF_CONFIG=x --env NCCL_DEBUG=INFO --env GPUADM_CHECKPOINT_DIR=/x
says "name: NCCL_DEBUG"
exits 0 run --nodes 2 --mpi --env OMPI_ALLOW_RUN_AS_ROOT=1
exits 2 run --env A=1 --env A=2
complains "--env A is given twice"

# Directories of volumes.
exits 2 run --storage d --storage e
complains "the claim d and the claim e would both be mounted at /data"
exits 2 run --storage d:/x --storage d:/x/
complains "would both be mounted at /x"
mkdir src && touch src/a.py
exits 2 run --src src --storage d:/workspace
complains "the files of --src and the claim d would both be mounted at /workspace"
exits 2 run --storage d:/
complains "it is the root directory"
exits 2 run --storage d:x
complains "--storage: x: not an absolute directory"
exits 2 run --storage d:/dev/shm
complains "see --shm"
exits 0 run --storage d --storage d:/again

# Other resources.
exits 2 run --resource nvidia.com/gpu=2
complains "--resource nvidia.com/gpu: GPUs are requested with --gpus"
exits 2 run --resource nvidia.com/mig-1g.10gb=1
exits 2 run --resource cpu=4
complains "--cpus"
exits 2 run --resource memory=32
complains "--memory"
exits 2 run --resource ephemeral-storage=32
complains "did you mean 32Gi?"
exits 2 run --resource rdma=1
complains "--resource rdma: not the name of a resource"
exits 2 run --resource rdma/hca=0
complains "not a number above zero: 0"
exits 2 run --resource rdma/hca=1 --resource rdma/hca=2
complains "--resource rdma/hca is given twice"
exits 0 run --resource rdma/hca=1 --resource ephemeral-storage=10Gi
says 'rdma/hca: "1"'

# Images.
image='a b' exits 2 run
complains "--image: invalid image name 'a b': ' ' is not allowed"
image=http://x/y exits 2 run
complains "a scheme such as http:// is not allowed"
image=Team/a exits 2 run
complains "capital letters"
image=localhost:5000/team/a:V1 exits 0 run

# Names, quantities and times.
name=1m exits 2 run
complains "invalid name of a training job: 1m: it begins with a digit"
exits 2 run --memory 32
complains "--memory: 32 is 32 B, less than 1Mi"
complains "did you mean 32Gi?"
exits 2 run --shm 8
complains "did you mean 8Gi?"
exits 2 run --storage d --size 10
complains "did you mean 10Gi?"
exits 2 run --time-limit 30
complains "--time-limit: invalid duration: '30'"
complains "for example --time-limit 10m"
exits 0 run --time-limit 30m

# Manifests.
manifest() {
  printf '%s\n' 'apiVersion: batch/v1' 'kind: Job' 'metadata: { name: mnist }' 'spec:' '  template:' '    spec:' '      volumes: [{ name: cache, emptyDir: {} }]' \
    "      containers: [{ name: main, image: a, command: [a], $1 }]" >job.yaml
  gpuadm train run -f job.yaml -o yaml --offline "${@:2}"
}
exits 2 manifest 'resources: { limits: { nvidia.com/gpu: -1 } }'
complains "limits.nvidia.com/gpu: not a number of GPUs from 0 to 1024"
exits 2 manifest 'env: [{ name: RANK, value: "2" }]'
complains "env.RANK: gpuadm sets this variable itself"
exits 2 manifest 'volumeMounts: [{ name: cache, mountPath: /workspace }]' --src src
complains "the files of --src and the volume cache would both be mounted at /workspace"
exits 0 manifest 'volumeMounts: [{ name: cache, mountPath: /dev/shm/ }]'
[ "$(grep -c /dev/shm out)" = 1 ] || fail "a second volume is mounted at /dev/shm"
exits 0 manifest 'resources: { limits: { nvidia.com/gpu: 2 } }'
says "nvidia.com/gpu: 2"

# Processes of a rank: one for each GPU, also of --gpus; a process can use one MIG instance.
processes() { # NUMBER COMMAND...
  exits 0 "${@:2}"
  [ "$(sed -n '/PET_NPROC_PER_NODE/{n;s/.*"\(.*\)"/\1/p}' out | sort -u)" = "$1" ] || fail "$(grep -A1 PET_NPROC out)"
}
processes 4 run --gpus 4
processes 1 run --gpus 1g.10gb:4
processes 3 run --gpus 1g.10gb:4 --processes 3
pytorch() { # PROCESSES COMMAND
  cat >pytorch.yaml <<END
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: { name: mnist }
spec:
  $1
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: { spec: { containers: [{ name: pytorch, image: a, command: [$2], resources: { limits: { nvidia.com/gpu: 4 } } }] } }
END
  gpuadm train run -f pytorch.yaml -o yaml --offline "${@:3}"
}
processes 4 pytorch '' torchrun
processes 2 pytorch '' torchrun --gpus 2
processes 2 pytorch 'nprocPerNode: "4"' torchrun --gpus 2
processes 1 pytorch 'nprocPerNode: "4"' torchrun --gpus 1g.10gb:2
# One process with several GPUs stays one.
processes 1 pytorch 'nprocPerNode: "1"' torchrun --gpus 2
processes 3 pytorch 'nprocPerNode: "4"' torchrun --gpus 2 --processes 3
hides 'the command sets'
processes 2 pytorch '' 'torchrun, --nproc-per-node=4' --gpus 2
complains 'note: the command sets --nproc-per-node, which --gpus does not change'
processes 1 manifest 'resources: { limits: { nvidia.com/mig-1g.10gb: 2 } }'
cat >mpi.yaml <<END
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: { name: solver }
spec:
  slotsPerWorker: 4
  mpiReplicaSpecs:
    Launcher: { template: { spec: { containers: [{ name: mpi, image: a, command: [mpirun, a] }] } } }
    Worker: { replicas: 2, template: { spec: { containers: [{ name: mpi, image: a, resources: { limits: { nvidia.com/gpu: 4 } } }] } } }
END
exits 0 gpuadm train run -f mpi.yaml -o yaml --offline --gpus 2
[ "$(grep -A1 GPUADM_SLOTS out | grep -c 'value: "2"')" = 2 ] || fail "$(grep -A1 GPUADM_SLOTS out)"

# GPUs that the cluster file allocates by claims.
printf '%s\n' 'apiVersion: gpuadm/v1alpha1' 'kind: GpuCluster' 'name: lab' 'kubernetes: { version: 1.36.2 }' 'gpu: { allocator: dra }' \
  'hosts: [{ name: gpu1, address: 192.0.2.1 }]' >cluster.yaml
exits 0 run -f cluster.yaml --gpus 2
says 'kind: ResourceClaimTemplate'
hides nvidia.com/gpu:
