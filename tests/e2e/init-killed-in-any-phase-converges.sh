#!/usr/bin/env bash
# gpuadm is killed in every phase in turn; the next run continues, and the last one ends with a cluster.
. "$(dirname "$0")/common"

a_host node
reached=0
for phase in $(phases); do
  init_begins
  if in_phase "$phase" "$running"; then
    reached=$((reached + 1))
    kill -9 "$running"
  fi
  wait "$running" || true
done
[ "$reached" -ge 8 ] || fail "only $reached phases were reached"
exits 0 init -y
has_a_cluster node
prints_nothing node 'kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o name' || fail "the token of kubeadm init is left"
exits 0 init -y
says "0 changed"
# Killed between kubeadm init and the deletion of its token: the next run deletes it.
on node ': >/var/lib/gpuadm/default-token && kubeadm token create --ttl 1h >/dev/null'
exits 0 init -y
prints_nothing node 'kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o name' || fail "the token of an interrupted kubeadm init is left"
