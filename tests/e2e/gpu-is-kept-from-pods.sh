#!/usr/bin/env bash
# gpuadm gpu quarantine keeps one of two GPUs from pods and release offers it again: the list on the host, the node's label and count, the
# DaemonSet with the other GPU, doctor, gpu list and verify agree, and reset leaves no list. The cluster is real; GPUs and device plugin are
# doubles, so which GPU NVIDIA's plugin advertises is shown on real ones (docs/gpu-proof.md).
. "$(dirname "$0")/common"

host_with_plugin node h200x2
exits 0 init -y

admin() { on node kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s "$@"; }
gpu() { gpuadm gpu "$1" "${@:2}" -f cluster.yaml; }
offers() { # offers COUNT: the device plugin, at once or within SECONDS
  local deadline=$((SECONDS + ${2:-0}))
  until [ "$(admin get node node -o "'jsonpath={.status.allocatable.nvidia\.com/gpu}'")" = "$1" ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail "the node does not offer $1 GPUs"
    sleep 1
  done
}
# visible: what the DaemonSet on this node gives its container.
visible() {
  admin -n kube-system get daemonsets -l app.kubernetes.io/managed-by=gpuadm -o "'jsonpath={range .items[*]}{.spec.template.spec.containers[0].env[?(@.name==\"NVIDIA_VISIBLE_DEVICES\")].value}{end}'"
}
uuid=$(on node nvidia-smi --query-gpu=uuid --format=csv,noheader | sed -n 2p)
other=$(on node nvidia-smi --query-gpu=uuid --format=csv,noheader | sed -n 1p)
[ -n "$uuid$other" ] || fail "there are no two GPUs"

exits 2 gpu quarantine node 7
complains "node has no GPU 7"
exits 2 gpu quarantine nowhere 1
complains "has no host named nowhere"
exits 0 gpu quarantine node 1 --dry-run
absent node /etc/gpuadm/quarantine || fail "a dry run wrote the list"

offers 2
exits 0 gpu quarantine node "$uuid" -y --reason 'Xid 79, ticket 4711'
offers 1
on node cat /etc/gpuadm/quarantine >quarantine
grep -q "^$uuid .*Xid 79, ticket 4711\$" quarantine || fail "the list is $(cat quarantine)"
[ "$(visible)" = "$other" ] || fail "the DaemonSet has $(visible)"
admin label node node --list | grep >/dev/null -xF nvidia.com/gpu.count=1 || fail "the node is labelled with another count"
exits 0 gpu quarantine node 1 -y
says "nothing to do"
exits 3 gpu quarantine node 0 -y
complains "node would have no GPU for pods"
# What the cluster file does not say stays.
layout=$(admin label node node --list | sed -n 's|^gpuadm.io/device-plugin=||p')
admin label node node gpuadm.io/device-plugin=time-slicing-4 --overwrite >/dev/null
exits 3 gpu release node 1 -y
complains "the GPUs of node are set up for time-slicing-4, and cluster.yaml says exclusive"
admin label node node "gpuadm.io/device-plugin=$layout" --overwrite >/dev/null
offers 1 120

exits 0 gpu list -o json
jq -e --arg uuid "$uuid" '.gpus[] | select(.uuid == $uuid) | .health == "quarantined" and .allocatable == false and (.why | contains("ticket 4711"))' out >/dev/null ||
  fail "gpu list does not say it"
# The plugin of before has been replaced twice: its last offer may end before the new one registers.
verified() { gpuadm verify -f cluster.yaml --only allocatable; }
within 120 "the node's offer" verified
exits 0 verified
says "1 nvidia.com/gpu, for 1 GPU"
gpuadm doctor -f cluster.yaml --only gpu.health --fail-on never >out 2>err || fail "doctor fails"
says "GPU 1 (NVIDIA H200) is in quarantine: pods do not get it"

exits 0 gpu release node 1 -y
offers 2
absent node /etc/gpuadm/quarantine || fail "the list is left"
[ "$(visible)" = all ] || fail "the DaemonSet has $(visible)"
exits 0 gpu release node 1 -y
says "nothing to do"

exits 0 gpu quarantine node 0 -y
offers 1
exits 0 gpuadm reset -f cluster.yaml -y
absent node /etc/gpuadm || fail "reset left the list"
