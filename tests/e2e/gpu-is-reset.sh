#!/usr/bin/env bash
# gpuadm gpu reset: the node is cordoned, the pod of that GPU is evicted and the other pod keeps running, device plugin, services and
# persistence mode let go of the GPU, it is reset, and everything is as before. What goes wrong is named, the node stays cordoned, and the
# next run continues. The cluster, the pods and the kubelet's allocations are real; GPUs and device plugin are doubles: no GPU is reset.
. "$(dirname "$0")/common"

host_with_plugin node h200x2
exits 0 init -y

admin() { on node kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s "$@"; }
reset() { gpuadm gpu reset node "$@" -f cluster.yaml; }
note() { admin get node node -o "'jsonpath={.spec.unschedulable} {.metadata.annotations.gpuadm\.io/gpu-reset}'"; }
label() { admin get node node -o "'jsonpath={.metadata.labels.gpuadm\.io/device-plugin}'"; }
is_as_before() {
  [ "$(note)" = ' ' ] || fail "the node is: $(note)"
  [ "$(label)" = exclusive ] || fail "the label of the device plugin is '$(label)'"
  on node systemctl is-active --quiet nvidia-dcgm.service || fail "DCGM is stopped"
  [ "$(on node nvidia-smi -i "$uuid" --query-gpu=persistence_mode --format=csv,noheader)" = Enabled ] || fail "persistence mode is off"
}
mapfile -t uuids < <(on node nvidia-smi --query-gpu=uuid --format=csv,noheader)
other=${uuids[0]} uuid=${uuids[1]}
[ -n "$uuid$other" ] || fail "there are no two GPUs"

# A service that a reset must stop, and a pod on each GPU: a Deployment starts its pods again. What the node was like when the reset began is
# recorded.
on node bash -s <<'END'
printf '[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/nvidia-dcgm.service
systemctl enable --quiet --now nvidia-dcgm.service
cat >/run/nvidia-smi-double.hook <<'HOOK'
#!/bin/sh
{
  kubectl --kubeconfig /etc/kubernetes/admin.conf get node node -o 'jsonpath={.spec.unschedulable} {.metadata.labels.gpuadm\.io/device-plugin}{"\n"}'
  systemctl is-active nvidia-dcgm.service
  kubectl --kubeconfig /etc/kubernetes/admin.conf get pods -A -l app.kubernetes.io/name=nvidia-device-plugin -o name
} >/run/seen-at-reset
HOOK
chmod +x /run/nvidia-smi-double.hook
END
deployment() { # deployment NAME
  printf '%s\n' 'apiVersion: apps/v1' 'kind: Deployment' "metadata: { name: $1 }" 'spec:' "  selector: { matchLabels: { app: $1 } }" '  template:' \
    "    metadata: { labels: { app: $1 } }" '    spec:' '      terminationGracePeriodSeconds: 1' \
    "      containers: [{ name: work, image: lab.local/sleep:1, imagePullPolicy: Never, args: ['0', work], resources: { limits: { nvidia.com/gpu: 1 } } }]" |
    on node 'kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -'
}
uid_of() { admin get pods -l "app=$1" -o "'jsonpath={.items[0].metadata.uid}'"; }
gpu_of() { # gpu_of UID: as the kubelet has allocated it
  on node "tr '{' '\n' </var/lib/kubelet/device-plugins/kubelet_internal_checkpoint" | grep -A1 "\"PodUID\":\"$1\"" | grep -o 'GPU-[0-9a-f-]*' | head -n 1
}
for name in one two; do
  deployment "$name"
  admin wait --for=condition=Available "deployment/$name" --timeout=240s >/dev/null
done
for name in one two; do
  case $(gpu_of "$(uid_of "$name")") in "$uuid") affected=$name ;; "$other") spared=$name ;; esac
done
[ "${affected:+a}${spared:+b}" = ab ] || fail "the kubelet's checkpoint does not name the GPUs: $(on node cat /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint)"
spared_uid=$(uid_of "$spared") affected_uid=$(uid_of "$affected")

# What cannot be reset, and what does not exist.
exits 2 reset 7
complains "node has no GPU 7"
exits 0 reset 1 --cancel -y
says "no reset has begun"
exits 0 reset 1 --dry-run
says "pods that use the GPU are evicted: default/$affected-"
[[ $(cat out) != *"default/$spared-"* ]] || fail "the pod of the other GPU would be evicted"
[ "$(note)" = ' ' ] || fail "a dry run changed the node"
[ "$(uid_of "$affected")" = "$affected_uid" ] || fail "a dry run evicted a pod"

# A program on the host that has the GPU open.
on node 'touch /dev/nvidia1; setsid sh -c "exec sleep 600 3</dev/nvidia1" >/dev/null 2>&1 </dev/null &'
for ((i = 0; i < 20; i++)); do ! on node 'pgrep -xf "sleep 600"' >/dev/null || break; sleep 0.5; done
exits 3 reset 1 -y
complains "GPU 1 of node is in use by sleep (pid "
[ "$(note)" = ' ' ] || fail "a refused reset changed the node"
on node 'pkill -xf "sleep 600"'

# It is reset.
exits 0 reset "$uuid" -y
on node cat /run/seen-at-reset >seen
[ "$(head -n 1 seen)" = 'true ' ] || fail "at the reset, the node was: $(head -n 1 seen)"
[ "$(sed -n 2p seen)" = inactive ] || fail "at the reset, DCGM was $(sed -n 2p seen)"
! grep -q pod/ seen || fail "at the reset, the device plugin still ran"
on node cat /run/nvidia-smi-double.log >log
[ "$(cat log)" = "persistence $uuid Disabled
reset $uuid done
persistence $uuid Enabled" ] || fail "nvidia-smi was called: $(cat log)"
is_as_before
[ "$(uid_of "$spared")" = "$spared_uid" ] || fail "the pod of the other GPU was evicted"
admin wait --for=condition=Available "deployment/$affected" --timeout=240s >/dev/null || fail "the evicted pod does not run again"
[ "$(uid_of "$affected")" != "$affected_uid" ] || fail "the pod was not evicted"

# A PodDisruptionBudget that allows no eviction: named, and continued when it is gone.
pod=$(admin get pods -l "app=$affected" -o "'jsonpath={.items[0].metadata.name}'")
api=$(admin get --raw /apis/policy/v1 >/dev/null 2>&1 && echo policy/v1 || echo policy/v1beta1)
printf '%s\n' "apiVersion: $api" 'kind: PodDisruptionBudget' 'metadata: { name: keep }' "spec: { minAvailable: 1, selector: { matchLabels: { app: $affected } } }" |
  on node 'kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -'
sleep 5
exits 1 reset 1 -y --drain-timeout 6
says "default/$pod was not evicted from node within 6s"
says "violate the pod's disruption budget"
says "Run the same command again"
[[ $(note) == "true $uuid "*' uncordon' ]] || fail "the node is: $(note)"
exits 3 reset 0 -y
complains "the reset of GPU $uuid of node has not completed"
exits 0 reset 1 --cancel -y
is_as_before
admin delete poddisruptionbudget keep >/dev/null

# The driver refuses, the GPU is lost, nvidia-smi hangs: each is named, the node stays cordoned, and the next run continues.
on node 'echo not-supported >/run/nvidia-smi-double.reset'
exits 1 reset 1 -y
says "does not support it (Resetting GPU 00000000:00:07.0 is not supported.)"
[[ $(note) == "true $uuid "* ]] || fail "the node is: $(note)"
[ -z "$(label)" ] || fail "the device plugin was returned"
on node 'rm /run/nvidia-smi-double.reset'
exits 0 reset 1 -y
is_as_before

on node 'echo lost >/run/nvidia-smi-double.reset'
exits 1 reset 1 -y
says "has fallen off the bus (Unable to determine the device handle"
exits 3 reset "$uuid" -y
complains "nvidia-smi does not list GPU $uuid of node"
complains "reboot the host"
on node 'rm -f /run/nvidia-smi-double.reset /run/nvidia-smi-double.lost'
exits 0 reset 1 -y
is_as_before

on node 'echo hangs >/run/nvidia-smi-double.reset'
exits 1 reset 1 -y
says "nvidia-smi did not complete the reset of GPU"
says "within 120s: reboot the host, then run the same command again"
[[ $(note) == "true $uuid "* ]] || fail "the node is: $(note)"
on node 'rm /run/nvidia-smi-double.reset'
exits 0 reset 1 --cancel -y
is_as_before

# A GPU that a reset does not heal: the XML says that a row still waits for its repair.
xml=/usr/local/share/nvidia-smi-double/nvidia-smi-q-x.xml
on node "sed -i '/<minor_number>1</,\$s|<remapped_row_pending>No|<remapped_row_pending>Yes|' $xml"
exits 1 reset 1 -y
complains "GPU 1 of node is not healthy after the reset: GPU 1 (NVIDIA H200) waits for a reset to repair itself"
complains "node stays cordoned"
on node "sed -i 's|<remapped_row_pending>Yes|<remapped_row_pending>No|' $xml"
exits 0 reset 1 -y
is_as_before

# A display; and gpuadm reset leaves the services that ran.
on node "awk '/<gpu id=/ { gpu++ } gpu == 2 { sub(\"<display_active>Disabled\", \"<display_active>Enabled\") } { print }' $xml >/root/xml && cp /root/xml $xml"
exits 3 reset 1 -y
complains "drives a display"
on node systemctl is-active --quiet nvidia-dcgm.service || fail "DCGM is stopped"
# Pods with GPUs that nobody created with gpuadm are listed, and are not ended without --force.
exits 0 gpuadm workload list -f cluster.yaml
grep -qE "^pod +default +$affected-.* 1 +node" out || fail "workload list does not name the pod"
exits 3 gpuadm reset -f cluster.yaml -y
complains "2 workloads would end: pod default/"
complains "(1 GPU on node)"
exits 0 gpuadm reset -f cluster.yaml -y --force
on node systemctl is-active --quiet nvidia-dcgm.service || fail "gpuadm reset stopped DCGM"
