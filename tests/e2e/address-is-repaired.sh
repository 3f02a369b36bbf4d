#!/usr/bin/env bash
# A single node whose host has another address and another name after a reboot: gpuadm repair address regenerates everything that contains the old one,
# and nothing else.
. "$(dirname "$0")/common"

old=; new=10.77.0.211
there() { # there COMMAND...: as root on the host at its new address
  lab net ssh -i "$(lab key)" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=10 "root@$new" "$@"
}
admin() { there kubectl --request-timeout=20s "$@"; } # with root's own kubeconfig
sums() { "$@" 'cd /etc/kubernetes/pki && sha256sum ca.crt front-proxy-ca.crt etcd/ca.crt sa.key apiserver-kubelet-client.crt front-proxy-client.crt'; }

a_host node
old=$(lab address node)
exits 0 init -y
on node 'kubectl create configmap kept --from-literal=a=b && kubectl run kept --image=lab.local/sleep:1 --image-pull-policy=Never --restart=Never -- 0 here' >/dev/null
on node kubectl wait --for=condition=Ready pod/kept --timeout=240s >/dev/null || fail "no pod runs"
exits 0 gpuadm repair address -f cluster.yaml -y
says "nothing to do"
untouched=$(sums on node)

# Another address and name; etcd and the API server restart and fail: the address does not exist.
on node "systemd-run -q sh -c 'sleep 2; ip addr del $old/24 dev eth0; ip addr add $new/24 dev eth0; ip route replace default via 10.77.0.1
  hostname renamed; echo renamed >/etc/hostname; echo $new renamed >>/etc/hosts
  pkill -KILL -x etcd; pkill -KILL -x kube-apiserver; systemctl restart kubelet'"
sed -i "s/address: $old/address: $new/" cluster.yaml
for _ in $(seq 240); do
  ! there true 2>/dev/null || break
  sleep 0.5
done
exits 0 gpuadm repair address -f cluster.yaml --dry-run
says "dry run: nothing was changed"
there "grep -q advertise-address=$old /etc/kubernetes/manifests/kube-apiserver.yaml" || fail "a dry run has changed something"
exits 0 gpuadm repair address -f cluster.yaml -y
[ "$(sums there)" = "$untouched" ] || fail "a certificate that does not name the address was regenerated"
[ "$(there 'openssl x509 -noout -text -in /etc/kubernetes/pki/apiserver.crt' | grep -c "IP Address:$new")" = 1 ] || fail "the certificate does not name the address"
there "[ -s /root/.kube/config ] && ! grep -rlwF '$old' /etc/kubernetes /root/.kube/config" >out || fail "the old address is still somewhere"
for map in kube-system/kubeadm-config kube-system/kube-proxy kube-public/cluster-info; do
  admin -n "${map%/*}" get configmap "${map#*/}" -o yaml >out 2>err || fail "no ConfigMap $map"
  # From 1.22 kubeadm keeps no address of a control plane there.
  if [ "$map" != kube-system/kubeadm-config ] || ! kubernetes_is_at_least 1.22; then says "$new"; fi
  ! grep -qwF "$old" out || fail "$map has the old address"
done
[ "$(admin get nodes -o name)" = node/node ] || fail "the node has another name"
admin wait --for=condition=Ready node/node --timeout=240s >/dev/null || fail "the node is not Ready"
[ "$(admin get configmap kept -o 'jsonpath={.data.a}')" = b ] || fail "an object is gone"
admin wait --for=condition=Ready pod/kept --timeout=240s >/dev/null || fail "the pod does not run any more"
admin run after --image=lab.local/sleep:1 --image-pull-policy=Never --restart=Never -- 0 here >/dev/null
admin wait --for=condition=Ready pod/after --timeout=240s >/dev/null || fail "no pod runs after the repair"
# A pod that was just started may be waited for.
exits 0 gpuadm repair address -f cluster.yaml -y
grep -qE 'nothing to do|: 0 changed,' out || fail "a second repair changes something"
