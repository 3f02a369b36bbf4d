#!/usr/bin/env bash
# `gpuadm verify` on a node whose kubelet, scheduler and runtime are real, and whose GPUs are a double's: it stops at the
# first link that is broken, counts pods against devices, and leaves nothing behind, after Ctrl-C either. The links that
# need a real GPU are broken here, and it says why (docs/gpu-proof.md has them on real ones).
. "$(dirname "$0")/common"

a_host node --gpu h200x2
exits 0 init -y --skip-phases gpu/toolkit,gpu/cdi,gpu/offered

verify() { gpuadm verify -f cluster.yaml "$@"; }
kube() { on node "export KUBECONFIG=/etc/kubernetes/admin.conf; kubectl $*"; }
offers() { # offers COUNT: waits until the node offers so many GPUs
  local deadline=$((SECONDS + 240))
  until [ "$(kube get node node -o "'jsonpath={.status.allocatable.nvidia\.com/gpu}'")" = "$1" ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail "the node does not offer $1 GPUs"
    sleep 1
  done
}
plugin() { # plugin COUNT: the double of the device plugin offers so many
  sed "s/COUNT/$1/" "$top/tests/lab/device-plugin/manifest.yaml" | on node 'kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -'
  offers "$1"
}
traces() {
  on node 'cat /var/lib/gpuadm/journal/log; find /var/lib/gpuadm | sort; ctr -n k8s.io images ls -q | sort'
  kube get namespaces -o name
}
leaves_nothing() { diff before <(traces) || fail "something was left"; }

# The driver of the double has no libraries and no devices: there the chain ends, and no pod was made.
exits 1 verify
grep -q 'broken *driver *libraries of the driver are missing' out || fail "the chain does not end at the driver"
says "broken: driver on node"
! grep -q scheduling out || fail "it continued"

# The plugin's pod cannot run without NVIDIA's runtime; a double takes its place. Links are tested by name from here on.
exits 1 verify --only plugin
says "the device plugin's pod on the node does not run"
exits 1 verify --only runtime
says "RuntimeClass nvidia has no runtime in the container runtime"
kube delete runtimeclass nvidia
kube -n kube-system delete daemonset nvidia-device-plugin
on node 'ctr -n k8s.io images import -' <"$(lab device-plugin)" >/dev/null
plugin 2
traces >before

# Two devices: two pods run, one waits for lack of a third.
exits 0 verify --only nvml,runtime,plugin,allocatable,scheduling
says "2 nvidia.com/gpu, for 2 GPUs"
says "2 of 3 pods with one GPU run, 1 waits: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
says "all tested links passed"
leaves_nothing

# What others hold is theirs.
kube run holder --image=lab.local/sleep:1 --restart=Never --overrides "'"'{"spec":{"containers":[{"name":"holder","image":"lab.local/sleep:1",
  "imagePullPolicy":"Never","args":["0"],"resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}'"'"
kube wait --for=condition=Ready pod/holder --timeout=240s
exits 0 verify --only scheduling -o json
jq -e '.summary.blockers == 0 and .gpus == 2 and (.findings[0].evidence | contains("1 held: default/holder"))' <out >/dev/null ||
  fail "it does not say what is held"
kube delete pod holder --grace-period=1

# Without a driver in the pod.
exits 1 verify --only pod
says "nvidia-smi does not run in a pod with a GPU"
exits 1 verify --only compute
says "libcuda.so.1: cannot open shared object file"
exits 1 verify --only reload
says "a pod cannot open its GPU"
leaves_nothing

# A device that the plugin does not offer.
plugin 1
exits 1 verify --only allocatable,scheduling
says "the node offers fewer GPUs than it has"
plugin 2

# A container runtime that is stopped is the first broken link, before the pods of the network test.
on node 'systemctl stop containerd'
exits 1 verify
says "broken: runtime on node"
on node 'systemctl start containerd'
on node 'timeout 240 sh -c "until ctr -n k8s.io containers ls >/dev/null 2>&1; do sleep 0.5; done"'

# Ctrl-C while pods are waited for: without a scheduler they wait forever.
on node 'mv /etc/kubernetes/manifests/kube-scheduler.yaml /root/; timeout 240 sh -c "while pgrep -x kube-scheduler >/dev/null; do sleep 0.5; done"'
traces >before
"$top/tests/lab/lab" net "$GPUADM" verify -f cluster.yaml --only scheduling >out 2>err </dev/null &
running=$!
deadline=$((SECONDS + 240))
until kube -n gpuadm-verify get pods -o name 2>/dev/null | grep >/dev/null pod; do
  [ "$SECONDS" -lt "$deadline" ] || fail "no pod was made"
  sleep 0.3
done
sleep 3
kill -INT "$running"
status=0
wait "$running" || status=$?
[ "$status" = 130 ] || fail "exit status $status after Ctrl-C"
leaves_nothing
