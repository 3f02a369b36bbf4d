#!/usr/bin/env bash
# Texts that users and nodes write into their own objects (the kind of an owner, an annotation, an address of a node) add no line to what root
# reads from the cluster: no pod of others is deleted, named or counted, and no node gets a route for the pods of another one. kubectl is a
# real one; the API server is a program of this test.
. "$(dirname "$0")/common"

kubectl=$(find "${GPUADM_CACHE:-/var/cache/gpuadm}"/bundles/*/bin/kubectl 2>/dev/null | head -n 1)
kubectl=${kubectl:-$(command -v kubectl)} || skip 'kubectl is not installed, and the lab has no bundle'
command -v python3 >/dev/null || skip 'python3 is not installed'
own_playbooks
cp "$top/playbooks/read/gpu-pods.sh" "$place/gpu-pods.sh"
sed -i "s#/etc/kubernetes#$root/etc/kubernetes#g" "$place/gpu-pods.sh"
ln -s "$kubectl" bin/kubectl

cat >objects.json <<'END'
[ {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "mine", "namespace": "team", "uid": "uid-mine",
    "ownerReferences": [{"apiVersion": "v1", "kind": "x\nkube-system etcd-one DaemonSet\nkube-system/etcd-one|ReplicaSet|\nkube-system/etcd-one ReplicaSet Running", "name": "x", "uid": "1"}],
    "annotations": {"kubernetes.io/config.hash": "uid-other\nuid-third\tx\tkube-system\tetcd-one\t\t"}},
    "spec": {"hostNetwork": true, "nodeName": "gpu1"}, "status": {"phase": "Running"}},
  {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "thief", "namespace": "team", "uid": "uid-thief",
    "annotations": {"kubernetes.io/config.hash": "uid-third"}}, "spec": {"nodeName": "gpu1"}, "status": {"phase": "Running"}},
  {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "third", "namespace": "lab", "uid": "uid-third"},
    "spec": {"nodeName": "gpu1"}, "status": {"phase": "Running"}},
  {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "kube-proxy-1", "namespace": "kube-system", "uid": "uid-proxy",
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "kube-proxy", "uid": "2"}]},
    "spec": {"hostNetwork": true, "nodeName": "gpu1"}, "status": {"phase": "Running"}},
  {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "etcd-one", "namespace": "kube-system", "uid": "uid-mirror",
    "annotations": {"kubernetes.io/config.hash": "uid-static", "kubernetes.io/config.mirror": "uid-static"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "one", "uid": "3"}]},
    "spec": {"hostNetwork": true, "nodeName": "gpu1"}, "status": {"phase": "Running"}},
  {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "gpu1", "labels": {"kubernetes.io/os": "linux"}}, "spec": {"podCIDR": "10.244.1.0/24"},
    "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.66\none 10.244.0.0/24 10.0.0.66"},
      {"type": "ExternalIP", "address": "10.0.0.67\nnode-role.kubernetes.io/master 10.0.0.9"}]}},
  {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "one", "labels": {"node-role.kubernetes.io/control-plane": ""}}, "spec": {"podCIDR": "10.244.0.0/24"},
    "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "one"}]}} ]
END
: >deleted
"$top/tests/lib/api-server" objects.json deleted >port &
server=$!
trap 'kill "$server" 2>/dev/null || :; ends' EXIT
for _ in $(seq 100); do
  [ ! -s port ] || break
  sleep 0.1
done
cat >"$root/etc/kubernetes/admin.conf" <<END
apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "http://127.0.0.1:$(cat port)" } }]
contexts: [{ name: c, context: { cluster: c, user: u } }]
current-context: c
users: [{ name: u, user: {} }]
END
works_in() { # works_in FILE... : the step on stdin, with the functions of these files
  { echo "PATH=$place/bin:\$PATH node_name=one advertise_address=10.0.0.1"; cat; } | works one "$@"
}

works_in static-pods.sh address.sh <<'END'
address_pods_restart
END
sort deleted >out
printf '/api/v1/namespaces/kube-system/pods/kube-proxy-1\n' | diff - out >differences || fail "an address that changes deletes $(paste -sd' ' deleted)"

works_in static-pods.sh upgrade.sh <<'END'
upgrade_pods gpu1
END
printf 'lab/third\nteam/mine\nteam/thief\n' | diff - <(sort out) >differences || fail "the pods to evict are $(paste -sd' ' out)"
works_in reset.sh etcd.sh remove.sh <<'END'
remove_pods gpu1
END
printf 'lab/third\nteam/mine\nteam/thief\n' | diff - <(sort out) >differences || fail "the pods to evict are $(paste -sd' ' out)"

# A node that forges a route: no routes at all, rather than that of another node.
step one network.sh <<END
PATH=$place/bin:\$PATH node_name=one
cluster_lines() { return 1; }
bridge_nodes
END
! grep -qx 'one 10.244.0.0/24 10.0.0.66' out || fail "a node has forged the route of another node"
[ "$status" != 0 ] || fail "an invalid address is accepted"

works_in join.sh etcd.sh <<'END'
etcd_data=$gpuadm_home/etcd joining_control_planes=10.0.0.9
mkdir -p "$etcd_data/member"
etcd_client() { echo '8e9e05c52164694d, unstarted, , https://10.0.0.9:2380, , false'; }
join_members
END
[ "$(cat out)" = 8e9e05c52164694d ] || fail "the members of interrupted joins are: $(cat out)"

uids='uid-third uid-static uid-other' from=cluster PATH=$place/bin:$PATH sh "$place/gpu-pods.sh" >out
printf '? 0\n| uid-static\tkube-system\tetcd-one\t\t\n| uid-third\tlab\tthird\t\t\n' | diff - <(LC_ALL=C sort out) >differences || fail "the pods are: $(tr '\t' ' ' <out)"
