#!/usr/bin/env bash
# Wrong options of `gpuadm notebook` are refused before a host is contacted.
. "$(dirname "$0")/common"

printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: gpu1, address: 127.0.0.1, port: 1 }]\n' >cluster.yaml
create() { gpuadm notebook create "$@" -f cluster.yaml; }

exits 2 create Anna
complains "invalid name of a notebook: Anna: 'A' is not allowed"
exits 2 create 1a
complains "invalid name of a notebook: 1a: it begins with a digit"
exits 2 create anna -n Team
complains "invalid name of a namespace"
exits 2 create anna --gpus 1.5
complains "--gpus: not a number of GPUs: 1.5"
exits 2 create anna --size 10GB
complains "--size: not a quantity above zero: 10GB"
exits 2 create anna --memory 4Gi --shm 8Gi
complains "--shm 8Gi is more than --memory 4Gi"
exits 2 create anna --mount ../work
complains "not an absolute directory"
exits 2 create anna --mount /
complains "--mount: /: it is the root directory"
for option in --memory --shm --size; do
  exits 2 create anna $option 10
  complains "$option: 10 is 10 B, less than 1Mi"
  complains "did you mean 10Gi?"
done
exits 2 create anna --image http://x/y
complains "a scheme such as http:// is not allowed"
exits 2 create anna --node-port --tunnel
exits 2 create anna --offline
complains "--offline creates nothing"
exits 2 gpuadm notebook create
exits 2 create anna -o yaml --offline --image 'pytorch;reboot'
complains "--image: invalid image name 'pytorch;reboot': ';' is not allowed"
exits 2 gpuadm notebook url Anna -f cluster.yaml
exits 2 gpuadm notebook delete anna --keep-volume --purge -f cluster.yaml
exits 2 gpuadm notebook delet anna -f cluster.yaml
complains "delete"
exits 2 gpuadm notebook resize anna -f cluster.yaml
complains "no new size is given"
exits 2 gpuadm notebook resize anna --gpus 1.5 -f cluster.yaml
complains "--gpus: not a number of GPUs: 1.5"
exits 2 gpuadm notebook resize anna --memory 4Gi --shm 8Gi -f cluster.yaml
complains "--shm 8Gi is more than --memory 4Gi"
exits 2 gpuadm notebook shell anna -f cluster.yaml
complains "a shell needs a terminal"
complains "gpuadm notebook shell anna -f cluster.yaml -- nvidia-smi"

# A host that does not respond is named, and nothing else is said.
exits 4 gpuadm notebook resize anna --gpus 1 -f cluster.yaml
complains "gpu1"
exits 4 gpuadm notebook shell anna -f cluster.yaml -- true
complains "gpu1"
for verb in url stop start; do
  exits 4 gpuadm notebook "$verb" anna -f cluster.yaml
  complains "gpu1"
done
exits 4 gpuadm workload list -f cluster.yaml
complains "gpu1"
exits 4 create anna
