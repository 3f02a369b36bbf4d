#!/usr/bin/env bash
# gpuadm gpu share labels the node and changes the device plugin of a real cluster, as one run that can be previewed, and ends when pods get the
# new shares: while a Deployment creates pods all the time, not one of them is refused afterwards. Every manifest that gpuadm makes is taken by
# a real API server. The GPU and NVIDIA's device plugin are doubles; that one registers 15 s after its start.
. "$(dirname "$0")/common"

admin() { on node kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s "$@"; }
labels() { admin label node node --list; }
objects() { admin -n kube-system get daemonsets,configmaps -l app.kubernetes.io/managed-by=gpuadm -o name | sort | tr '\n' ' '; }
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }

admitted() { admin get node node -o "'jsonpath={.metadata.annotations.gpuadm\.io/gpu-pod-started}'"; }
# without_refusal: of the pods of the Deployment `work` not one is refused in the 25 s from now, and one has started.
without_refusal() {
  local since
  since=$(date -u +%FT%TZ)
  sleep 25
  admin get pods -l app=work -o "'jsonpath={range .items[*]}{.status.startTime} {.status.phase} {.status.reason} {.status.message}{\"\\n\"}{end}'" >started
  awk -v since="$since" '$1 >= since && $2 == "Failed" { print; found = 1 } END { exit found }' started >out || fail "pods were refused after the command had ended"
  awk -v since="$since" '$1 >= since && $2 != "Failed" { found = 1 } END { exit !found }' started || { cp started out && fail "no pod has started since"; }
  admin delete pods -l app=work --field-selector=status.phase=Failed >/dev/null
}

host_with_plugin node h200
exits 0 init -y
[ -n "$(admitted)" ] || fail "no pod with a GPU has started at the end of init"
prints_nothing node kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s get pods -A -l gpuadm.io/gpu-start -o name ||
  fail "the pod that shows it is still there"
exits 0 init -y
says "nothing to do"
exits 0 gpuadm gpu list -f cluster.yaml
says "NVIDIA H200"

# Pods end and are created again every few seconds, for as long as this test runs.
on node 'kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -' >applied <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: { name: work }
spec:
  replicas: 2
  selector: { matchLabels: { app: work } }
  template:
    metadata: { labels: { app: work } }
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{ name: work, image: lab.local/sleep:1, imagePullPolicy: Never, args: ['0', work], resources: { limits: { nvidia.com/gpu: 1 } } }]
END
on node 'cat >/root/churn; setsid sh /root/churn >/dev/null 2>&1 </dev/null &' <<'END'
export KUBECONFIG=/etc/kubernetes/admin.conf
while sleep 3; do kubectl delete pods -l app=work --field-selector=status.phase=Running --wait=false; done
END

before=$(objects)
exits 0 gpuadm gpu share node 4 -f cluster.yaml --dry-run
is "$(objects)" "$before"
! labels | grep >/dev/null time-slicing || fail "a dry run has labelled the node"
exits 0 gpuadm gpu share node 4 -f cluster.yaml -y
without_refusal
complains "change hosts[].gpu there too"
is "$(objects)" "configmap/nvidia-device-plugin-config-time-slicing-4 daemonset.apps/nvidia-device-plugin-time-slicing-4 "
labels >labelled
for label in nvidia.com/gpu.product=NVIDIA-H200-SHARED nvidia.com/gpu.replicas=4 nvidia.com/gpu.present=true gpuadm.io/device-plugin=time-slicing-4; do
  grep -qxF "$label" labelled || fail "no label $label"
done
exits 0 gpuadm gpu share node 4 -f cluster.yaml -y
says "nothing to do"
# Nor does a run without a cluster file reset what this command has set.
keys=(-i "$(lab key)" --host-key-checking strict)
exits 0 without_file init "root@$(lab address node)" "${keys[@]}" --bundle "$bundle" --phases gpu/labels,gpu/device-plugin -y
says "nothing to do"

# The image stays, as a bundle may have it without its digest.
on node "sed -i 's/\(image: .*\)@sha256:[0-9a-f]*/\1/' /etc/kubernetes/gpuadm/device-plugin.yaml"
exits 0 gpuadm gpu share node mps:2 -f cluster.yaml -y
without_refusal
on node '[ -s /etc/kubernetes/gpuadm/device-plugin.yaml ] && ! grep @sha256 /etc/kubernetes/gpuadm/device-plugin.yaml' >manifest || fail "another image: $(head -n 1 manifest)"
is "$(objects)" "configmap/nvidia-device-plugin-config-mps-2 daemonset.apps/nvidia-device-plugin-mps-2 daemonset.apps/nvidia-mps-control-daemon-mps-2 "
labels | grep >/dev/null -xF nvidia.com/mps.capable=true || fail "the node is not labelled for MPS"
# The layout of another node stays, whatever this run's file says of that node.
admin create -f - >/dev/null <<'END'
apiVersion: v1
kind: Node
metadata: { name: other, labels: { gpuadm.io/device-plugin: mps-2 } }
END
exits 0 gpuadm gpu share node exclusive -f cluster.yaml -y
is "$(objects)" "configmap/nvidia-device-plugin-config-exclusive configmap/nvidia-device-plugin-config-mps-2 daemonset.apps/nvidia-device-plugin daemonset.apps/nvidia-device-plugin-mps-2 daemonset.apps/nvidia-mps-control-daemon-mps-2 "
without_refusal
admin delete node other >/dev/null
exits 0 gpuadm gpu share node exclusive -f cluster.yaml -y
is "$(objects)" "configmap/nvidia-device-plugin-config-exclusive daemonset.apps/nvidia-device-plugin "
exits 0 gpuadm gpu list -f cluster.yaml -o json
jq -e '.gpus[0] | .node == "node" and .sharing == "exclusive" and .allocatable == true' out >/dev/null || fail "the list is wrong"

# The hardware cannot be so: nothing is touched.
exits 3 gpuadm gpu mig node 1g.5gb -f cluster.yaml -y
says "H200 141GB has no profile 1g.5gb"

# A node may label itself: workers need no administrator's credentials.
on node kubectl --kubeconfig /etc/kubernetes/kubelet.conf label node node nvidia.com/gpu.count=3 --overwrite >labelled
labels | grep >/dev/null -xF nvidia.com/gpu.count=3 || fail "a node cannot label itself"

# Every manifest of the cases is taken by the API server.
for file in "$top"/tests/cases/device-plugin/*/expected.yaml; do
  on node kubectl --kubeconfig /etc/kubernetes/admin.conf apply --dry-run=server -f - <"$file" >applied || fail "$file is refused"
  [ -s applied ]
done
