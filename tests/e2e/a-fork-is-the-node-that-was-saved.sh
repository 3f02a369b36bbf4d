#!/usr/bin/env bash
# A fork of a saved node is that node after a reboot: the same address, machine id, host keys and objects. After init has repeated its network test,
# it changes nothing; pods run, and what one fork changes, the next one does not have.
. "$(dirname "$0")/common"

identity() { on node 'cat /etc/machine-id /etc/ssh/ssh_host_*_key.pub && ip -4 -o address show eth0 && sha256sum /etc/kubernetes/pki/*.crt'; }

ready_nodes 1 node
identity >first
administer node create configmap own >/dev/null
on node 'touch /etc/own /var/lib/kubelet/own'
lab down node

begun=$SECONDS
ready_nodes 1 node
echo "the fork was Ready after $((SECONDS - begun)) s"
identity | diff first - >out || fail "the fork is another node"
administer node get configmaps -n default -o name >out
! grep -q own out || fail "the fork has an object of the first one"
on node '[ ! -e /etc/own ] && [ ! -e /var/lib/kubelet/own ]' || fail "the fork has files of the first one"
exits 0 init -y # the network test is repeated after a boot
changes_nothing init -y
has_a_cluster node
exits 0 gpuadm reset -f cluster.yaml -y
on node '[ ! -e /etc/kubernetes/admin.conf ]' || fail "reset left a kubeconfig"
