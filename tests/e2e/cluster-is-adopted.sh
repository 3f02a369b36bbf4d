#!/usr/bin/env bash
# A cluster that kubeadm has made by hand is read back into a cluster file; nothing is changed before that is asked for; a worker joins by it,
# and status works. A cluster that gpuadm made is read back to what made it.
. "$(dirname "$0")/common"

# Whose hosts they are, and how to log in: the rest of this file is not looked at.
hosts 1 one two
mv cluster.yaml login.yaml
"$top/tests/lab/by-hand-init" one >/dev/null
snapshot() { on one 'find /etc /var/lib/gpuadm -type f -exec sha256sum {} + 2>/dev/null | sort'; }

snapshot >before
exits 3 gpuadm init one -f login.yaml --bundle "$bundle" -y
complains "kubeadm.foreign-cluster: a Kubernetes cluster that gpuadm did not create runs on this host (one)"
complains "nothing was changed"
says "gpuadm adopt one -o cluster.yaml"
says "Kubernetes v$(kubernetes_version), node one"
exits 0 gpuadm adopt one -f login.yaml
snapshot >after
diff before after || fail "adopt changed the host"
cp out printed.yaml
for line in 'name: one' "version: \"$(kubernetes_version)\"" 'source: installed' 'plugin: none' 'cgroupDriver: cgroupfs' 'maxPerCore: 0' 'swap: "off"'; do
  grep -qF -- "$line" printed.yaml || fail "the file does not say $line"
done
complains "Store the cluster file on the control plane"
! grep -q 'needed   Run kubeadm init' err || fail "the cluster that is there would be made again"
exits 0 gpuadm adopt one -f login.yaml -o adopted.yaml --record -y
exits 2 gpuadm adopt one -f login.yaml -o adopted.yaml
complains "already exists"
diff printed.yaml adopted.yaml || fail "the file is another one than was printed"
snapshot | grep -vxFf before | grep -v ' /var/lib/gpuadm/' >new || true
[ "$(awk '{ print $2 }' new)" = /etc/kubernetes/gpuadm/cluster.yaml ] || { cp new out && fail "more was changed than the record"; }

# What the network's owner does for each node.
on one cat /etc/cni/net.d/10-bridge.conflist | sed 's/10\.244\.[0-9]*\.0/10.244.99.0/' | on two 'mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/10-bridge.conflist'
awk '/^patches:/ { exit } /name: two/' login.yaml >line
awk 'FNR == NR { two = $0; next } { print } /^hosts:/ { print two }' line adopted.yaml >both.yaml
exits 0 gpuadm join two -f both.yaml --bundle "$bundle" -y --no-wait
exits 1 gpuadm verify -f both.yaml --only network
says "one has no route to 10.244.99."
on one ip route add 10.244.99.0/24 via "$(lab address two)"
range=$(on one kubectl --kubeconfig /etc/kubernetes/admin.conf get node one -o 'jsonpath={.spec.podCIDR}')
on two ip route add "$range" via "$(lab address one)"
exits 0 gpuadm verify -f both.yaml --only network
on one 'kubectl --kubeconfig /etc/kubernetes/admin.conf wait --for=condition=Ready node/two --timeout=240s' >/dev/null || fail "two is not Ready"
exits 0 gpuadm adopt -f login.yaml -o again.yaml
grep -A7 'name: two' again.yaml | grep >/dev/null 'role: worker' || fail "the node that joined is not in the file"
exits 0 gpuadm status -f again.yaml

# A cluster of gpuadm returns its own cluster file.
lab down two
lab up two
"$top/tests/lib/lab-cluster" two >cluster.yaml
exits 0 init -y
exits 0 gpuadm adopt -f cluster.yaml --bundle "$bundle" -o made.yaml
says "nothing to do"
changes_nothing gpuadm apply -f made.yaml --bundle "$bundle" -y
