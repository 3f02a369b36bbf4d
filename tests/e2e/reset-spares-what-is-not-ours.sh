#!/usr/bin/env bash
# A cluster that gpuadm did not create is reset only with --force. What others have changed since
# stays, and images stay when asked. What a host had before its cluster stays also in the second reset.
. "$(dirname "$0")/common"

lab up node
"$top/tests/lib/lab-cluster" node >cluster.yaml
"$top/tests/lab/by-hand-init" node >/dev/null 2>err || fail "no cluster by hand"
exits 3 gpuadm reset -f cluster.yaml -y
complains "a cluster that gpuadm did not create"
complains "--force"
has_a_cluster node
exits 0 gpuadm reset -f cluster.yaml -y --force
on node '[ ! -e /etc/kubernetes/admin.conf ] && [ ! -e /etc/kubernetes/manifests/etcd.yaml ]' || fail "the cluster is still there"
on node '[ -e /etc/cni/net.d/10-bridge.conflist ]' || fail "a file that nobody noted is gone"
prints_nothing node 'ctr -n k8s.io containers ls -q' || fail "pods are left"
on node iptables-save >rules || fail "the rules cannot be read"
lacks -F KUBE- rules || fail "rules are left"
lab down node

a_host node
on node 'mkdir -p /var/lib/dockershim /run/nvidia/mps && touch /var/lib/dockershim/theirs /run/nvidia/mps/theirs'
exits 0 init -y
on node 'echo "theirs = 1" >/etc/sysctl.d/99-gpuadm.conf'
exits 1 gpuadm reset -f cluster.yaml -y --keep-images
says "/etc/sysctl.d/99-gpuadm.conf is kept: it was changed by others since"
[ "$(on node cat /etc/sysctl.d/99-gpuadm.conf)" = "theirs = 1" ] || fail "it was written over"
on node 'ctr -n k8s.io images ls -q' | grep >/dev/null pause || fail "the images are gone"
exits 0 gpuadm reset -f cluster.yaml -y --force
prints_nothing node 'ctr -n k8s.io images ls -q' || fail "images are left"
on node '[ ! -e /var/lib/gpuadm ]' || fail "/var/lib/gpuadm is still there"
exits 0 gpuadm reset -f cluster.yaml -y
says "nothing to do"
on node '[ -e /var/lib/dockershim/theirs ] && [ -e /run/nvidia/mps/theirs ]' || fail "files from before the cluster are gone"
