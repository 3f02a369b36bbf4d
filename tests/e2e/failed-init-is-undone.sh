#!/usr/bin/env bash
# An init that does not reach a working cluster is undone: the host is what it was before, file by file. So is one
# that was run again and failed again. A cluster that works is refused.
. "$(dirname "$0")/common"

a_host node
cp cluster.yaml good.yaml
# etcd exits at once. kubeadm is not to wait for it for four minutes.
cat >>cluster.yaml <<'END'
  clusterConfiguration:
    apiServer: { timeoutForControlPlane: 20s }
    etcd: { local: { extraArgs: { no-such-flag: "1" } } }
END
whole_host node >before

exits 1 init -y
exits 1 init -y
on node '[ -e /etc/kubernetes/manifests/etcd.yaml ]' || fail "kubeadm did not get as far as etcd"
exits 0 gpuadm undo -f cluster.yaml --dry-run
says "kubeadm did not finish on node"
exits 0 gpuadm undo -f cluster.yaml -y
whole_host node >after
diff before after || fail "undo left something"
exits 0 gpuadm undo -f cluster.yaml -y
says "there is nothing to undo"

exits 0 gpuadm init -f good.yaml --bundle "$bundle" -y
has_a_cluster node
exits 3 gpuadm undo -f good.yaml -y
complains "gpuadm reset"
