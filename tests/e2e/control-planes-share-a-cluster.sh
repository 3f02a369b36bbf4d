#!/usr/bin/env bash
# Three control planes and two workers behind a load balancer. One control plane loses its power: the API keeps responding.
# It is removed though it is gone, and a fresh host joins in its place.
. "$(dirname "$0")/common"

hosts 3 one two three four five
echo 'controlPlane: { endpoint: "10.77.0.1:6443" }' >>cluster.yaml
balance() {
  local name
  {
    printf 'defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 1h\n  timeout server 1h\nlisten api\n  bind 10.77.0.1:6443\n  option httpchk GET /healthz\n'
    for name in one two three; do
      printf '  server %s %s:6443 check check-ssl verify none inter 1s fall 2 rise 1 on-marked-down shutdown-sessions\n' "$name" "$(lab address "$name")"
    done
  } >haproxy.cfg
  if [ -n "${balancer:-}" ]; then kill "$balancer" && wait "$balancer"; fi || true
  "$top/tests/lab/lab" net haproxy -db -f haproxy.cfg >haproxy.log 2>&1 </dev/null &
  balancer=$!
}
balance
trap 'kill "$balancer" 2>/dev/null || :; lab down --all; rm -rf "$place"' EXIT
on_two() { on two kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s "$@"; }
# shellcheck disable=SC2016 # expanded on the host
members() { # members NAME: of etcd, as that control plane has them
  on "$1" 'kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system exec "etcd-$(hostname)" -- etcdctl --endpoints https://127.0.0.1:2379 \
    --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key member list'
}
exits 0 gpuadm apply -f cluster.yaml --bundle "$bundle" -y
has_a_cluster one 5
[ "$(members one | wc -l)" = 3 ] || fail "etcd has not three members"
on_two create configmap kept --from-literal=word=kept >/dev/null

lab kill one
within 240 "the API to answer without its first control plane" on_two get nodes
within 240 "the node without power to be NotReady" sh -c "'$top/tests/lab/lab' ssh two kubectl --kubeconfig /etc/kubernetes/admin.conf get node one | grep NotReady"

exits 1 gpuadm status -f cluster.yaml --connect-timeout 5
grep -E '^ +one: ' out >/dev/null || fail "status does not say who is gone"

exits 4 gpuadm remove one -f cluster.yaml -y --connect-timeout 5
complains "--force"
exits 0 gpuadm remove one -f cluster.yaml -y --force --connect-timeout 5
[ "$(members two | wc -l)" = 2 ] || fail "etcd still counts on the member that is gone"
on_two get nodes -o name >left || fail "the nodes cannot be listed"
lacks -F node/one left || fail "the node is still there"

# A fresh machine of that name, first in the file as before: it joins those that are there.
lab down one
lab up one >/dev/null
"$top/tests/lib/lab-cluster" --control-planes 3 one two three four five >cluster.yaml
echo 'controlPlane: { endpoint: "10.77.0.1:6443" }' >>cluster.yaml
balance
exits 0 gpuadm join one -f cluster.yaml --bundle "$bundle" -y
[ "$(members two | wc -l)" = 3 ] || fail "etcd has not three members again"
has_a_cluster two 5
[ "$(on one kubectl --kubeconfig /etc/kubernetes/admin.conf get configmap kept -o 'jsonpath={.data.word}')" = kept ] || fail "what etcd held is gone"
exits 0 gpuadm apply -f cluster.yaml --bundle "$bundle" -y # it is the first again, and gets what the first has
changes_nothing gpuadm apply -f cluster.yaml --bundle "$bundle" -y

# One that cannot read the cluster is not reset while the others stay.
on three mv /etc/kubernetes/admin.conf /root/admin.conf
exits 1 gpuadm reset three -f cluster.yaml -y
cat out err | grep >/dev/null "other members of etcd stay" || fail "reset does not say why it refuses"
on three mv /root/admin.conf /etc/kubernetes/admin.conf
[ "$(members two | wc -l)" = 3 ] || fail "a member of etcd is gone"

# One of three leaves, and the other two continue; then the remaining ones are removed at once.
exits 0 gpuadm reset three -f cluster.yaml -y
[ "$(members two | wc -l)" = 2 ] || fail "etcd still counts on the member that was reset"
exits 0 gpuadm reset -f cluster.yaml -y
for name in one two three four five; do
  on "$name" '[ ! -e /etc/kubernetes/admin.conf ] && [ ! -d /var/lib/etcd/member ] && ! pgrep -x "kubelet|etcd"' >/dev/null || fail "$name is a node still"
done
