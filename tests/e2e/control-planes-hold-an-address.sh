#!/usr/bin/env bash
# Three control planes with a virtual address. The one that has it loses its power: another takes it, and the API answers there; etcd of
# three members is restored. What holds the address is a double of kube-vip (tests/lab/kube-vip-double): its own image is not available here.
. "$(dirname "$0")/common"

cp -r "$bundle" with-vip
"$top/tests/lab/kube-vip-double/make" with-vip
mkdir -p own/playbooks
sed 's#kube_vip_image: .*#kube_vip_image: lab.local/kube-vip:1#' "$top/playbooks/catalog.yaml" >own/playbooks/catalog.yaml
apply() { gpuadm --assets own apply -f cluster.yaml --bundle with-vip "$@"; }

hosts 3 one two three
virtual=$(lab address one | sed 's/\.[0-9]*$/.222/')
echo "controlPlane: { virtualAddress: $virtual }" >>cluster.yaml
link=$(on two "ip -o addr show to $(lab address two)" | awk '{ print $2 }')
has_it() { [ -n "$(on "$1" "ip -o addr show to $virtual" 2>/dev/null)" ]; }
# one_has_it NAME...: one of these hosts has the address, in two readings. Sets $holder.
one_has_it() {
  local name earlier now=
  for _ in 1 2; do
    earlier=$now now=
    for name in "$@"; do ! has_it "$name" || now+=" $name"; done
  done
  [ "$now" = "$earlier" ] && [[ $now =~ ^\ [a-z]+$ ]] && holder=${now# }
}

on two ip addr add "$virtual/32" dev "$link"
exits 3 apply --dry-run
complains "is already in use by"
on two ip addr del "$virtual/32" dev "$link"
on one ip neigh flush to "$virtual"

exits 0 apply -y
for name in one two three; do
  on "$name" "grep -qF '\"$virtual\"' /etc/kubernetes/manifests/kube-vip.yaml" || fail "$name does not stand ready"
done
within 240 "one host to have the address" one_has_it one two three
on one "grep -qF 'server: https://$virtual:6443' /etc/kubernetes/admin.conf" || fail "the endpoint is another one"
changes_nothing apply -y

# etcd of three members: its data is restored, on all of them at once.
as_admin() { on one kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s "$@"; }
as_admin create configmap kept --from-literal=word=kept >/dev/null
exits 0 gpuadm etcd snapshot -f cluster.yaml --to etcd.db
as_admin create configmap late --from-literal=word=late >/dev/null
exits 3 gpuadm etcd restore etcd.db one two -f cluster.yaml -y
complains "3 members"
exits 0 gpuadm etcd restore etcd.db -f cluster.yaml -y
[ "$(as_admin get configmap kept -o 'jsonpath={.data.word}')" = kept ] || fail "what the snapshot held is gone"
! as_admin get configmap late >/dev/null 2>&1 || fail "what came after the snapshot is there"
exits 0 gpuadm etcd defrag -f cluster.yaml -y
within 240 "one host to have the address" one_has_it one two three

lab kill "$holder"
others=$(printf '%s\n' one two three | grep -v "$holder")
asks=$(printf '%s\n' "$others" | head -n 1)
deadline=$((SECONDS + 240))
until on "$asks" kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s get nodes >seen 2>&1; do
  [ "$SECONDS" -lt "$deadline" ] || { cp seen out && fail "nobody has taken the address over"; }
  sleep 1
done

# The host that is gone is forgotten, and the one that has the address now leaves: it keeps nothing of it, and the last one has it.
exits 0 gpuadm remove "$holder" -f cluster.yaml -y --force --connect-timeout 5
# shellcheck disable=SC2086 # names
within 240 "one host to have the address" one_has_it $others
has=$holder
exits 0 gpuadm remove "$has" -f cluster.yaml -y --connect-timeout 5 --force
! has_it "$has" || fail "the address is left on $has"
on "$has" '[ ! -e /etc/kubernetes/manifests/kube-vip.yaml ]' || fail "kube-vip is left on $has"
for name in $others; do
  [ "$name" = "$has" ] || within 240 "the last one to answer at the address" on "$name" kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=30s get nodes
done
