# Stages of `inside` for a host with several GPUs.
# shellcheck shell=bash disable=SC2034,SC2086,SC2154 # $f is two words; it, $failed and the functions used here are those of `inside`

gpus() { on "$driver/bin/nvidia-smi" -L | wc -l; }

wait_for_text() { # wait_for_text FILE TEXT: at most 90 s
  local end=$((SECONDS + 90))
  until grep -q "$2" "$1" 2>/dev/null; do
    [ "$SECONDS" -lt "$end" ] || { echo "no '$2' in $1 within 90 s" && failed=1 && return; }
    sleep 1
  done
}

# ranks_together: a job of one pod with all GPUs, a job of pods with one GPU each, and two jobs that share the host's GPUs. The bus bandwidth
# of NCCL in the pod is compared with that of the machine's own processes (by-hand.txt, from `prove`).
ranks_together() {
  local count name begun=()
  count=$(gpus)
  mkdir -p /root/src
  cp train.py /root/src/
  on ctr -n k8s.io images import - <userland.tar >/dev/null
  checks_ranks
  awk -v own="$(cat /out/by-hand.txt)" 'match($0, /[0-9.]+ GB\/s of bus bandwidth/) { bandwidth = substr($0, RSTART) + 0 }
    END { printf "NCCL in the pod %.1f GB/s, on the machine %.1f GB/s: %.3f of it\n", bandwidth, own, bandwidth / own
      exit !(bandwidth >= 0.98 * own) }' /out/train-check.txt | tee /out/ranks-bandwidth.txt || failed=1
  says ranks-one-pod.txt train run $f -f /root/ranks.yaml --src /root/src
  [ "$(grep -c 'accuracy 0\.9' /out/ranks-one-pod.txt)" = "$count" ] || failed=1
  pytorch_job pods "$((count - 1))" >/root/pods.yaml
  says ranks-pods-check.txt train check $f -f /root/pods.yaml --pack -v
  says ranks-pods.txt train run $f -f /root/pods.yaml --pack --src /root/src
  [ "$(grep -c 'accuracy 0\.9' /out/ranks-pods.txt)" = "$count" ] || failed=1
  for name in left right; do
    pytorch_job "$name" 0 --seconds 25 >"/root/$name.yaml"
    says "ranks-$name.txt" train run $f -f "/root/$name.yaml" --src /root/src &
    begun+=("$!")
  done
  wait_for_text /out/ranks-left.txt.err 'rank 0 runs'
  wait_for_text /out/ranks-right.txt.err 'rank 0 runs'
  sleep 15 # PyTorch starts
  says ranks-gpus.txt gpu list $f
  says ranks-top.txt gpu top $f --count 1
  wait "${begun[@]}"
  for name in left right; do
    grep -q 'accuracy 0\.9' "/out/ranks-$name.txt" && grep -q "$name" /out/ranks-gpus.txt || failed=1
  done
  for name in ranks pods left right; do says "ranks-stop-$name.txt" train stop "$name" $f; done
}

# quarantines_a_free_one: a GPU is taken from pods, and offered again, while a job uses all others.
quarantines_a_free_one() {
  local count busy free running
  count=$(gpus)
  mkdir -p /root/src
  cp train.py /root/src/
  on ctr -n k8s.io images import - <userland.tar >/dev/null
  pytorch_job busy "$((count - 2))" --seconds 60 >/root/busy.yaml
  says busy.txt train run $f -f /root/busy.yaml --pack --src /root/src &
  running=$!
  wait_for_text /out/busy.txt.err 'rank 0 runs'
  sleep 15 # PyTorch starts
  busy=$(on "$driver/bin/nvidia-smi" --query-compute-apps=gpu_uuid --format=csv,noheader)
  free=$(on "$driver/bin/nvidia-smi" --query-gpu=index,uuid --format=csv,noheader | awk -F', ' -v busy="$busy" 'index(busy, $2) == 0 { print $1; exit }')
  says busy-quarantine.txt gpu quarantine gpu1 "${free:-none}" $f -y --reason 'while a job runs'
  offers "$((count - 1))"
  says busy-gpus.txt gpu list $f
  grep -q busy /out/busy-gpus.txt && grep -q quarantine /out/busy-gpus.txt || failed=1
  says busy-release.txt gpu release gpu1 "${free:-none}" $f -y
  offers "$count"
  wait "$running"
  grep -q 'accuracy 0\.9' /out/busy.txt || { echo 'the job did not survive' && failed=1; }
  says busy-stop.txt train stop busy $f
}

# serves_on_all: a model with tensor parallelism over all GPUs: the memory of each against what was predicted, and its speed against one GPU.
serves_on_all() {
  local create='--image lab.local/model:1 --server-port 8000 --health /health' count number
  count=$(gpus)
  model_image
  for number in "$count" 1; do
    says "tensors-check-$number.txt" serve check /root/model $f --engine vllm --context 32768 --concurrency 4 --gpus "$number"
    says "tensors-create-$number.txt" serve create "llama-$number" $create --gpus "$number" $f
    kube logs "deployment/llama-$number" | tee "/out/tensors-log-$number.txt"
    memory_is_as_predicted "tensors-check-$number" "$number" || failed=1
    says "tensors-bench-$number.txt" serve bench "llama-$number" --clients 1 --seconds 15 --tokens 128 $f
    [ "$number" = 1 ] || says tensors-gpus.txt gpu list $f
    says "tensors-delete-$number.txt" serve delete "llama-$number" $f
  done
}

# claimed_all: a pod with one claim for all GPUs computes on them, and copies from GPU to GPU.
claimed_all() {
  local count end=$((SECONDS + 150))
  count=$(gpus)
  [ "$count" -gt 1 ] || return 0
  kube create -f - >/dev/null <<END
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: { name: all }
spec: { devices: { requests: [{ name: gpus, exactly: { deviceClassName: gpu.nvidia.com, allocationMode: ExactCount, count: $count } }] } }
---
apiVersion: v1
kind: Pod
metadata: { name: all }
spec:
  restartPolicy: Never
  tolerations: [{ operator: Exists }]
  securityContext: { runAsNonRoot: true, runAsUser: 65534 }
  resourceClaims: [{ name: gpus, resourceClaimName: all }]
  containers:
    - name: proof
      image: gpuadm.local/proof:1
      imagePullPolicy: Never
      command: [/gpuadm-proof, --quick, --again, "20"]
      resources: { claims: [{ name: gpus }] }
END
  until [ "$(kube get pod all -o "'jsonpath={.status.phase}'")" = Running ] || [ "$SECONDS" -ge "$end" ]; do sleep 1; done
  says dra-gpus-all.txt gpu list -f /root/dra.yaml
  until kube get pod all -o "'jsonpath={.status.phase}'" | grep -q 'Succeeded\|Failed' || [ "$SECONDS" -ge "$end" ]; do sleep 1; done
  kube logs all | tee /out/dra-all.txt
  grep -q '"exit":0' /out/dra-all.txt && grep -q 'peer [0-9]' /out/dra-all.txt && [ "$(grep -c default/all /out/dra-gpus-all.txt)" = "$count" ] || failed=1
  kube delete pod all --grace-period=1 >/dev/null
  kube delete resourceclaim all >/dev/null
}
