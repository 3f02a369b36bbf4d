#!/usr/bin/env bash
# Only etcd processes of static pods in the host's network belong to the control plane: not those of user pods there, nor of a user whose control
# group is called like that of a pod, nor one whose name begins with a newline. Its members are those that etcd lists, or that are in its data;
# without both, the control planes of the API server; without it, those of its manifest.
. "$(dirname "$0")/common"

root=$place/root
mkdir -p books "$root/etc/kubernetes/manifests" home
cp "$playbooks"/*.sh books/
sed -i "s#/etc/kubernetes#$root/etc/kubernetes#g; s#/proc/#$root/proc/#g" books/static-pods.sh books/processes.sh books/etcd.sh
playbooks=$place/books
process() { # process PID NAME NETWORK CGROUP
  mkdir -p "$root/proc/$1/ns"
  printf '%s\n' "$2" >"$root/proc/$1/comm"
  printf '0::/%s\n' "$4" >"$root/proc/$1/cgroup"
  ln -s "net:[$3]" "$root/proc/$1/ns/net"
}
process self sh 4026531840 system.slice/ssh.service
process 100 etcd 4026531840 kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podea64aa4c0e18dbdc85e0b0a1d8dcbea7.slice/cri-containerd-0a.scope
process 101 etcd 4026531840 kubepods/burstable/podea64aa4c0e18dbdc85e0b0a1d8dcbea7/0a
process 200 etcd 4026532000 kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podea64aa4c0e18dbdc85e0b0a1d8dcbea7.slice/b
process 300 etcd 4026531840 system.slice/etcd.service
process 400 kube-apiserver 4026531840 kubepods.slice/kubepods-podea64aa4c0e18dbdc85e0b0a1d8dcbea7.slice
process 500 etcd 4026531840 kubepods.slice/kubepods-pod5c1a7a2e_93f4_4a53_8d1e_0a6f1c1b2d3e.slice/c
process 600 etcd 4026531840 user.slice/user-1000.slice/user@1000.service/kubepods-podea64aa4c0e18dbdc85e0b0a1d8dcbea7.slice/c
process 700 $'\netcd' 4026531840 kubepods.slice/kubepods-podea64aa4c0e18dbdc85e0b0a1d8dcbea7.slice/c
step one static-pods.sh <<<'static_pod_pids etcd'
[ "$(paste -sd, out)" = 100,101 ] || fail "processes of etcd: $(paste -sd, out)"

members() { # members INITIAL-CLUSTER: as etcd_members names them
  printf '    image: registry.k8s.io/etcd:3.6.8-0\n    - --data-dir=%s\n    - --initial-cluster=%s\n' "$root/data" "$1" >"$root/etc/kubernetes/manifests/etcd.yaml"
  step one static-pods.sh etcd.sh <<END
etcd_client() { [ "\$1" = member ] && cat $place/listed || [ -e $place/quorum ]; }
admin_kubectl() { [ -s $place/nodes ] && cat $place/nodes; }
etcd_members
END
  paste -sd '|' out
}
is() { [ "$1" = "$2" ] || fail "members: $1"; }
is "$(members one=https://10.0.0.1:2380)" 'manifest|one 10.0.0.1'
is "$(members 'one=https://10.0.0.1:2380,two=https://10.0.0.2:2380,three=https://[fd00::3]:2380')" 'manifest|one 10.0.0.1|two 10.0.0.2|three fd00::3'

# The API server, the data of etcd, and etcd itself know more than the manifest of the first control plane.
printf 'one 10.0.0.1\ntwo fd00::2\n' >nodes
is "$(members one=https://10.0.0.1:2380)" 'nodes|one 10.0.0.1|one 10.0.0.1|two fd00::2'
mkdir -p "$root/data/member/snap"
printf 'x\0\1{"id":1027,"peerURLs":["https://10.0.0.1:2380"],"name":"one","clientURLs":["https://10.0.0.1:2379"]}\0{"id":1,"peerURLs":["https://[fd00::2]:2380"],"isLearner":false,"name":"two"}\n' \
  >"$root/data/member/snap/db"
is "$(members one=https://10.0.0.1:2380)" 'data|one 10.0.0.1|two fd00::2'
printf '%s\n' '8e9e05c52164694d, started, one, https://10.0.0.1:2380, https://10.0.0.1:2379, false' \
  '8e9e05c52164694e, unstarted, , https://10.0.0.3:2380, , true' >listed
is "$(members one=https://10.0.0.1:2380)" 'data|one 10.0.0.1|- 10.0.0.3'
touch quorum
is "$(members one=https://10.0.0.1:2380)" 'etcd|one 10.0.0.1|- 10.0.0.3'
