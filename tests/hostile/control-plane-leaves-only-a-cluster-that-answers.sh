#!/usr/bin/env bash
# `reset` on a control plane whose API server does not answer: it is refused while other members of etcd stay, as etcd, its data or its manifest
# names them; --force says what stays. A cluster of one node, and one that is removed as a whole, are removed without it.
. "$(dirname "$0")/common"

root=$place/root
mkdir -p books bin "$root/etc/kubernetes/manifests" "$root/var/lib/etcd/member/snap" home
cp "$playbooks"/*.sh books/
sed -i -E "s#/(etc/kubernetes|var/lib/etcd)#$root&#g" books/*.sh
playbooks=$place/books
cat >bin/kubectl <<END
#!/bin/sh
case " \$* " in
  *' get nodes '*) cat $place/nodes ;;
  *' create --raw /v3/cluster/member/list '*) cat $place/members ;;
  *) echo "\$*" >>$place/calls ;;
esac 2>/dev/null
END
chmod +x bin/kubectl
touch "$root/etc/kubernetes/admin.conf"
leaves() { # leaves CODE UNREAD LEAVING FUNCTION
  step one before.sh static-pods.sh reset.sh <<END
PATH=$place/bin:\$PATH
hostname() { echo One; }
reset_own_server() { :; }
leave_unread=$2 leaving_machines='$3'
$4
END
  [ "$status" = "$1" ] || fail "exit status $status, not $1: $2, $3"
}
check() { leaves "$1" "$2" "$3" reset_leave_check; }
manifest() { printf '    - --name=one\n    - --initial-cluster=%s\n' "$1" >"$root/etc/kubernetes/manifests/etcd.yaml"; }
alone='aaaa one.example.com 10.0.0.1'
all=$alone$'\nbbbb rack7 10.0.0.2\ncccc three fd00::3'

# A worker, and a control plane that was alone.
check 0 refuse "$alone"
manifest one=https://10.0.0.1:2380
check 0 refuse "$alone"

# Other members, in the manifest.
manifest 'one=https://10.0.0.1:2380,two=https://10.0.0.2:2380,three=https://[fd00::3]:2380'
check 3 refuse "$alone"
complains "no API server answers"
complains "other members of etcd stay: two three"
complains "gpuadm remove"
check 0 refuse "$all"
check 0 left "$alone"
mv "$root/etc/kubernetes/admin.conf" conf
check 3 refuse "$alone"
mv conf "$root/etc/kubernetes/admin.conf"

# In the data, although the manifest is that of the first control plane; and as etcd lists them.
manifest one=https://10.0.0.1:2380
printf 'x\0\1{"id":1027665774393,"peerURLs":["https://10.0.0.1:2380"],"name":"one","clientURLs":["https://10.0.0.1:2379"]}\0{"id":1,"peerURLs":["https://10.0.0.2:2380"],"name":"two"}\n{"id":7}' \
  >"$root/var/lib/etcd/member/snap/db"
check 3 refuse "$alone"
complains "other members of etcd stay: two."
check 0 refuse "$all"
echo '{"header":{"cluster_id":"1"},"members":[{"ID":"8e9e","name":"one","peerURLs":["https://10.0.0.1:2380"],"clientURLs":["https://10.0.0.1:2379"]}]}' >members
check 0 refuse "$alone"
sed -i 's/}]}$/},{"ID":"8e9f","name":"two","peerURLs":["https:\/\/10.0.0.2:2380"],"isLearner":true}]}/' members
check 3 refuse "$alone"

# With --force it is said, once; without it, an API server that has stopped meanwhile ends the step.
check 1 say "$alone"
leaves 3 refuse "$alone" reset_leave
leaves 0 say "$alone" reset_leave
complains "the node one and its member of etcd stay in the cluster"
complains "etcdctl member remove"
[ ! -e calls ] || fail "kubectl was asked: $(cat calls)"
check 0 say "$alone"
check 0 refuse "$alone"
rm home/left

# An API server that answers decides.
printf 'two\t"bbbb"\tnode-role.kubernetes.io/control-plane \t"10.0.0.2",\none\t"%s"\tnode-role.kubernetes.io/control-plane \t"10.0.0.1",\n' "$(cat /etc/machine-id)" >nodes
check 1 refuse "$alone"
printf 'one\t"%s"\tnode-role.kubernetes.io/control-plane \t"10.0.0.1",\n' "$(cat /etc/machine-id)" >nodes
check 0 refuse "$alone"

# The member of this host is removed by its ID. The node is kept if etcd refuses, or if kubeadm, which is used if etcd on this host does not
# answer, only warns.
printf 'two\t"bbbb"\tnode-role.kubernetes.io/control-plane \t"10.0.0.2",\none\t"%s"\tnode-role.kubernetes.io/control-plane \t"10.0.0.1",\n' "$(cat /etc/machine-id)" >nodes
manifest one=https://10.0.0.1:2380
# As etcd 3.4.23 answers.
echo '{"header":{"cluster_id":"12477932507096523251","member_id":"185828541645115251","raft_term":"4"},"members":[{"ID":"13668033151171901709","name":"two","peerURLs":["https://10.0.0.2:2380"]},{"ID":"185828541645115251","name":"one","peerURLs":["https://10.0.0.1:2380"]}]}' >answer
printf '#!/bin/sh\ncat %s/kubeadm-says\n' "$place" >bin/kubeadm
cat >bin/kubectl <<END
#!/bin/sh
case " \$* " in
  *' get nodes '*) cat $place/nodes ;;
  *' create --raw /v3/cluster/member/list '*) cat $place/members ;;
  *' create --raw /v3/cluster/member/remove '*) cat >>$place/removed && [ ! -e $place/refusal ] || { cat $place/refusal && exit 1; } ;;
  *) echo "\$*" >>$place/calls ;;
esac
END
chmod +x bin/kubeadm bin/kubectl
stays() { # stays REASON: refused without --force, said with it
  rm -f calls home/left home/left-etcd
  leaves 3 refuse "$alone" reset_leave
  complains "cannot remove the etcd member of this host: $1"
  ! grep -q 'delete node' calls || fail "the node was deleted"
  leaves 0 say "$alone" reset_leave
  complains "$1"
  complains "etcdctl member remove ID"
}
cp answer members
echo 'Error from server: etcdserver: unhealthy cluster' >refusal
stays 'Error from server: etcdserver: unhealthy cluster'
rm members
echo 'W1128 10:00:00.000000    4711 removeetcdmember.go:106] [reset] Failed to remove etcd member: etcdserver: unhealthy cluster, please manually remove this etcd member using etcdctl' >kubeadm-says
stays 'W1128 10:00:00'
echo '[reset] Unable to fetch the kubeadm-config ConfigMap from cluster: timed out' >kubeadm-says
stays '[reset] Unable to fetch the kubeadm-config'
printf '#!/bin/sh\necho connection refused >&2\nexit 1\n' >bin/kubeadm
stays 'kubeadm: connection refused'
cp answer members
rm -f home/left home/left-etcd removed refusal calls
leaves 0 refuse "$alone" reset_leave
[ "$(cat removed)" = '{"ID":"185828541645115251"}' ] || fail "another member was removed: $(cat removed)"
grep -q 'delete node one' calls || fail "the node was not deleted"

# A 503 of etcd passes, and is repeated; a refusal that lasts ends the step, which says what is half done. A member that is not found any more
# was removed by an attempt whose answer was lost.
mkdir -p home/lock
cat >bin/kubectl <<END
#!/bin/sh
case " \$* " in
  *' get nodes '*) cat $place/nodes ;;
  *' create --raw /v3/cluster/member/list '*) cat $place/members ;;
  *' create --raw /v3/cluster/member/remove '*) cat >/dev/null && echo x >>$place/removals && [ "\$(wc -l <$place/removals)" -gt 2 ] || { cat $place/refusal >&2 && exit 1; } ;;
  *) echo "\$*" >>$place/calls ;;
esac
END
patient() { # patient CODE
  rm -f home/left home/left-etcd calls
  : >removals
  leaves "$1" refuse "$alone" 'request_again=60 && reset_leave'
}
echo 'Error from server (ServiceUnavailable): the server is currently unable to handle the request' >refusal
patient 0
[ "$(wc -l <removals)" = 3 ] || fail "etcd had $(wc -l <removals) requests"
grep -q 'delete node one' calls || fail "the node was not deleted"
echo 'etcdserver: re-configuration failed due to not enough started members' >refusal
patient 3
[ "$(wc -l <removals)" = 1 ] || fail "etcd had $(wc -l <removals) requests"
complains "the node one is drained and cordoned; it is still in the cluster with its etcd member"
complains "kubectl uncordon one"
echo 'Error from server: etcdserver: member not found' >refusal
patient 0
rm -r home/lock
