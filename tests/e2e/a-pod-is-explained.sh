#!/usr/bin/env bash
# gpuadm explain pod names the first broken link of pods on a real cluster. Kubelet, scheduler, controllers and container runtime are real;
# the GPUs are a double's, and containers run the host's programs.
. "$(dirname "$0")/common"

kube() { on node "$(printf '%q ' kubectl --kubeconfig /etc/kubernetes/admin.conf "$@")"; }

ready_nodes 1 node
on node 'ctr -n k8s.io images import -' <"$(lab device-plugin)" >/dev/null
sed "s/COUNT/4/" "$top/tests/lab/device-plugin/manifest.yaml" | kube apply -f - >/dev/null
deadline=$((SECONDS + 300))
until [ "$(kube get node node -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')" = 4 ]; do
  [ "$SECONDS" -lt "$deadline" ] || fail "the node does not offer GPUs"
  sleep 1
done
kube create namespace team >/dev/null
deadline=$((SECONDS + 180))
until kube -n team get serviceaccount default >/dev/null 2>&1; do
  [ "$SECONDS" -lt "$deadline" ] || fail "the namespace has no service account"
  sleep 1
done

# pod NAME CONTAINER [SPEC]: a manifest in one line; CONTAINER and SPEC are further keys.
pod() {
  printf -- '---\n{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"team"},"spec":{"restartPolicy":"Never","terminationGracePeriodSeconds":0,"containers":[{"name":"main","image":"lab.local/sleep:1","imagePullPolicy":"Never"%s}]%s}}\n' \
    "$1" "${2:+,$2}" "${3:+,$3}"
}
mounts='"volumeMounts":[{"name":"usr","mountPath":"/usr"},{"name":"bin","mountPath":"/bin"},{"name":"lib","mountPath":"/lib"},{"name":"lib64","mountPath":"/lib64"}]'
volumes='"volumes":[{"name":"usr","hostPath":{"path":"/usr"}},{"name":"bin","hostPath":{"path":"/usr/bin"}},{"name":"lib","hostPath":{"path":"/usr/lib"}},{"name":"lib64","hostPath":{"path":"/usr/lib64"}}]'
# script NAME TEXT [SPEC]: a pod that runs a text in the host's shell.
script() { pod "$1" "$(jq -cn --arg text "$2" '["/bin/sh","-c",$text]' | sed 's/^/"command":/'),$mounts${4:+,$4}" "$volumes${3:+,$3}"; }
controller() { # controller NAME SPEC: a ReplicaSet
  printf -- '---\n{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"%s","namespace":"team"},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"%s"}},"template":{"metadata":{"labels":{"app":"%s"}},"spec":{"containers":[{"name":"main","image":"lab.local/sleep:1","imagePullPolicy":"Never","resources":{"limits":{"cpu":"10m"}}}]%s}}}}\n' \
    "$1" "$1" "$1" "${2:+,$2}"
}

# A notebook holds three of the four GPUs.
pod anna-0 '"args":["0"],"resources":{"limits":{"nvidia.com/gpu":"3"}}' | sed 's/"namespace"/"labels":{"gpuadm.io\/kind":"notebook","gpuadm.io\/name":"anna"},&/' | kube apply -f - >/dev/null
kube -n team wait --for=condition=Ready pod/anna-0 --timeout=240s >/dev/null
{
  pod gpus-in-use '"resources":{"limits":{"nvidia.com/gpu":"2"}}'
  pod more-gpus-than-any-node '"resources":{"limits":{"nvidia.com/gpu":"5"}}'
  pod more-than-any-node '"resources":{"requests":{"cpu":"1000"}}'
  pod node-selector '' '"nodeSelector":{"disk":"ssd"}'
  pod claim-missing '' '"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data"}}]'
  pod no-storage-class '' '"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"unbound"}}]'
  printf -- '---\n{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"unbound","namespace":"team"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}\n'
  pod scheduler-missing '' '"schedulerName":"volcano"'
  pod directory-missing '"volumeMounts":[{"name":"data","mountPath":"/data"}]' '"volumes":[{"name":"data","hostPath":{"path":"/mnt/no-such-share","type":"Directory"}}]'
  pod configmap-missing '"volumeMounts":[{"name":"data","mountPath":"/data"}]' '"volumes":[{"name":"data","configMap":{"name":"settings"}}]'
  pod secret-missing '"envFrom":[{"secretRef":{"name":"token"}}]'
  pod image-never-pull '' | sed 's|lab.local/sleep:1|lab.local/nothing:1|'
  pod registry-unreachable '' | sed 's|lab.local/sleep:1|registry.invalid/nothing:1|; s|"Never"}|"Always"}|'
  printf -- '---\n{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"unknown"},"handler":"unknown"}\n'
  pod runtime-handler-missing '' '"runtimeClassName":"unknown"'
  pod command-not-found '"command":["trian.sh"]'
  script exit-code 'echo "starting"; echo "error: no data"; exit 3'
  script shared-memory 'sh -c "kill -BUS \$\$"; exit $?'
  script cuda-driver-too-old 'echo "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)."; exit 1'
  script oom-killed 'exec dd if=/dev/zero of=/dev/null bs=300M count=1' '' '"resources":{"limits":{"memory":"32Mi"}}'
  script liveness-probe 'sleep 1000' '' '"livenessProbe":{"exec":{"command":["/bin/false"]},"periodSeconds":1,"failureThreshold":2}' | sed 's/"restartPolicy":"Never"/"restartPolicy":"Always"/'
  script readiness-probe 'sleep 1000' '' '"readinessProbe":{"exec":{"command":["/bin/false"]},"periodSeconds":1}'
  controller service-account-missing '"serviceAccountName":"nobody"'
  controller runtime-class-missing '"runtimeClassName":"missing"'
  printf -- '---\n{"apiVersion":"v1","kind":"Pod","metadata":{"name":"init-container","namespace":"team"},"spec":{"restartPolicy":"Never","initContainers":[{"name":"setup","image":"lab.local/sleep:1","imagePullPolicy":"Never","command":["no-such-program"]}],"containers":[{"name":"main","image":"lab.local/sleep:1","imagePullPolicy":"Never"}]}}\n'
} >manifests
kube apply -f - <manifests >applied || fail "the API server refuses a manifest"
# Quotas apply to pods that are created later.
kube -n team create quota cpus --hard=limits.cpu=100m >/dev/null
quota_counts() { kube -n team get quota cpus -o 'jsonpath={.status.hard}' | grep >/dev/null .; }
within 240 "the quota to be enforced" quota_counts
controller quota '' | sed 's/"cpu":"10m"/"cpu":"1"/' | kube apply -f - >/dev/null

# is_because REASON [NAME]: within 240 s, since kubelet and controllers need time.
is_because() {
  local deadline=$((SECONDS + 240)) name=${2:-$1} status
  while :; do
    status=0
    gpuadm explain pod "team/$name" -f cluster.yaml -o json >out 2>err </dev/null || status=$?
    [ "$(jq -r .reason out)" != "$1" ] || break
    [ "$SECONDS" -lt "$deadline" ] || fail "the reason of $name is '$(jq -r .reason out)', not '$1'"
    sleep 2
  done
  jq -r '"\(.message) | \(.fix)"' out
  [ "$status" = 1 ] || fail "the exit status of $name is $status"
  jq -e '.runs == false and .fix != "" and .message != ""' out >/dev/null || fail "it says nothing about $name"
}

for reason in gpus-in-use more-gpus-than-any-node more-than-any-node node-selector claim-missing no-storage-class scheduler-missing directory-missing \
  configmap-missing secret-missing image-never-pull registry-unreachable runtime-handler-missing command-not-found exit-code shared-memory \
  cuda-driver-too-old oom-killed liveness-probe readiness-probe service-account-missing runtime-class-missing quota; do
  is_because "$reason"
done
is_because command-not-found init-container

# The text has the reason first, then evidence, what to type, holders and log lines.
exits 1 gpuadm explain pod team/gpus-in-use -f cluster.yaml
[ "$(head -n 1 out)" = "Pending: 2 GPUs are requested, 1 is free on node" ] || fail "the first line is another"
says "notebook/anna holds 3 since "
says "fix:  wait, or gpuadm notebook stop anna"
exits 1 gpuadm explain pod team/exit-code -f cluster.yaml
says "Error: container main ended with exit code 3: error: no data"
says "last log lines of container main:"

# A cordoned node.
kube -n team delete quota cpus >/dev/null
kube cordon node >/dev/null
pod cordoned | kube apply -f - >/dev/null
is_because cordoned
kube uncordon node >/dev/null

# What runs is fine, by its name, by the name of the notebook, and in any namespace.
exits 0 gpuadm explain pod team/anna-0 -f cluster.yaml
says "Running: the pod is ready"
exits 0 gpuadm explain pod anna -f cluster.yaml -o json
jq -e '.kind == "notebook" and .pod == "anna-0" and .runs' out >/dev/null || fail "the notebook is not found"

# Names that do not exist.
exits 2 gpuadm explain pod team/gpus-in-us -f cluster.yaml
complains "did you mean team/gpus-in-use?"
exits 2 gpuadm explain pod tema/gpus-in-use -f cluster.yaml
complains "the namespace tema does not exist"
exits 2 gpuadm explain pod 'team/x;id' -f cluster.yaml
complains "invalid pod name"
