#!/usr/bin/env bash
# `reset` keeps what a host had before its cluster, also if it runs again after it has deleted its record, and on a host that was never a node.
# With --force it removes a cluster that gpuadm did not create, and ends what it has begun.
. "$(dirname "$0")/common"

unset SUDO_USER
root=$place/root
mkdir books && cp "$playbooks"/*.sh books/
sed -i -E "s#/(etc/kubernetes|etc/cni|opt/cni|var/lib|var/run/|run/(flannel|nvidia|gpuadm|cdi))#$root&#g; s#$root/var/lib/gpuadm#/var/lib/gpuadm#g" books/*.sh
mkdir bin && printf '#!/bin/sh\necho "$*" >>%s/kubeadm-ran\n' "$place" >bin/kubeadm && chmod +x bin/kubeadm
program() { # program CHECK|APPLY ID: of the step of playbooks/kubernetes/reset-state.yaml
  python3 -c 'import sys, yaml; print(next(step["shell"][sys.argv[2]] for step in yaml.safe_load(open(sys.argv[1])) if step["id"] == sys.argv[3]))' \
    "$playbooks/kubernetes/reset-state.yaml" "$@"
}
for id in reset.state reset.before; do for part in check apply; do program $part $id >$part.$id; done; done
playbooks=$place/books
state() { # state RUN TEXT
  step "$1" before.sh static-pods.sh reset.sh <<END
PATH=$place/bin:\$PATH
gpuadm_tables= gpuadm_trees=\${gpuadm_trees% *} # without root's home
links_now() { :; }
reset_mounts() { :; }
mkdir -p $place/home
$2
END
}
resets() { # resets RUN: the steps, as a run does them
  local id
  for id in reset.state reset.before; do
    state "$1" "$(cat check.$id)"
    [ "$status" != 0 ] || continue
    state "$1" "$(cat apply.$id)"
    [ "$status" = 0 ] || fail "$id: exit status $status"
    state "$1" "$(cat check.$id)"
    [ "$status" = 0 ] || fail "$id: work is left"
  done
}
theirs="etc/cni/net.d/theirs run/nvidia/mps/log var/lib/etcd/default/member/db var/lib/kubelet/config.json"
inhabited() { for file in $theirs; do mkdir -p "$root/${file%/*}" && echo theirs >"$root/$file"; done; }
keeps() { # keeps WHEN
  for file in $theirs; do [ -e "$root/$file" ] || fail "$1: $file is gone"; done
  [ ! -e kubeadm-ran ] || fail "$1: kubeadm reset ran"
}
a_node() {
  mkdir -p "$root/etc/kubernetes/pki" "$root/var/lib/kubelet/pods/uid" "$root/run/gpuadm"
  touch "$root/etc/kubernetes/kubelet.conf" "$root/etc/kubernetes/pki/ca.crt" "$root/var/lib/kubelet/config.yaml" "$root/run/gpuadm/x"
}
no_node() { # no_node WHEN
  for file in etc/kubernetes/kubelet.conf etc/kubernetes/pki var/lib/kubelet/config.yaml var/lib/kubelet/pods; do
    [ ! -e "$root/$file" ] || fail "$1: $file is left"
  done
}

# A host that was never a node.
inhabited
resets never
keeps "a host that was never a node"

# A node, twice: the first time ended with a kept file of the journal.
state init before_note
a_node
resets one
no_node "the first reset"
keeps "the first reset"
[ ! -d home/before ] || fail "the record is left"
resets two
keeps "the second reset"
mkdir -p "$root/run/gpuadm"
resets three
keeps "the third reset"
[ ! -e "$root/run/gpuadm" ] || fail "/run/gpuadm is left"

# A worker that had an admin.conf before.
touch "$root/etc/kubernetes/admin.conf"
state init before_note
mkdir -p home/journal && printf 'cluster\tkubeadm\tabsent\tkube.join\tinit\n' >home/journal/log
a_node
resets four
resets five
keeps "a worker with an admin.conf"
[ -e "$root/etc/kubernetes/admin.conf" ] || fail "admin.conf is gone"
rm -r "$root" home

# A cluster that gpuadm did not create, cut off when admin.conf and kubelet.conf were gone.
inhabited
a_node
state force 'reset_by_kubeadm() { exit 9; }
reset_state'
[ "$status" = 9 ] || fail "exit status $status"
rm "$root/etc/kubernetes/kubelet.conf"
resets again
no_node "a cluster of others"
[ -e "$root/etc/cni/net.d/theirs" ] || fail "the configuration of a network plugin was removed"
[ -s kubeadm-ran ] || fail "kubeadm reset did not run"
