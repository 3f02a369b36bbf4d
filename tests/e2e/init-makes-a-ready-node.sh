#!/usr/bin/env bash
# A fresh host becomes a cluster with real pods; a second init changes and restarts nothing.
. "$(dirname "$0")/common"

a_host node
exits 0 init -y --no-wait
says "--no-wait"
! events | grep >/dev/null -F '"step":"verify.network"' || fail "the network was tested with --no-wait"
exits 0 init -y
events | grep >/dev/null '"did":"applied".*"step":"verify\.network"' || fail "the network was not tested"
has_a_cluster node
prints_nothing node 'kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o name' || fail "the token of kubeadm init is left"

before=$(units node)
exits 0 init -y
says "0 changed"
[ "$(units node)" = "$before" ] || fail "units were restarted"

# The doctor has no blockers for a healthy node and cluster.
exits 0 gpuadm doctor -f cluster.yaml --stage node --fail-on blocker
exits 0 gpuadm doctor -f cluster.yaml --stage cluster --fail-on blocker

# The program that computes on GPUs runs in a pod of its own image; this host has no GPU, and it says so.
on node 'ctr -n k8s.io images import -' <"${GPUADM%/*}/proof/image.tar" >/dev/null
# shellcheck disable=SC2016 # expanded on the host
on node 'export KUBECONFIG=/etc/kubernetes/admin.conf
  kubectl run proof --image=gpuadm.local/proof:1 --image-pull-policy=Never --restart=Never >/dev/null
  for i in $(seq 240); do
    [ "$(kubectl get pod proof -o "jsonpath={.status.phase}")" != Failed ] || break
    sleep 0.5
  done
  kubectl logs proof' >out 2>err
says "gpuadm-proof: libcuda.so.1: cannot open shared object file"
