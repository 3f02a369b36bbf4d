#!/usr/bin/env bash
# A repeated join does not join a control plane that has its label, Ready or not: its data is that of a voting etcd member. A worker must be
# Ready.
. "$(dirname "$0")/common"

root=$place/root
mkdir -p books bin "$root/etc/kubernetes" home
cp "$playbooks"/*.sh books/
sed -i "s#/etc/kubernetes#$root/etc/kubernetes#g" books/join.sh
playbooks=$place/books
printf '#!/bin/sh\ncat %s/node\n' "$place" >bin/kubectl
chmod +x bin/kubectl
: >"$root/etc/kubernetes/kubelet.conf"
joined() { # joined CODE KEY TEXT
  printf '%s' "$3" >node
  step one join.sh <<END
PATH=$place/bin:\$PATH node_name=one certificate_key='$2'
join_was_done
END
  [ "$status" = "$1" ] || fail "exit status $status, not $1: $2, $3"
}
joined 0 '' 'True {"kubernetes.io/hostname":"one"}'
joined 1 '' 'False {"kubernetes.io/hostname":"one"}'
joined 1 key 'True {"kubernetes.io/hostname":"one"}'
joined 0 key 'False {"node-role.kubernetes.io/control-plane":""}'
joined 0 key 'True {"node-role.kubernetes.io/master":""}'
rm "$root/etc/kubernetes/kubelet.conf"
joined 1 key 'True {"node-role.kubernetes.io/control-plane":""}'
