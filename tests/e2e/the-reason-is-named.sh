#!/usr/bin/env bash
# Where kubeadm fails, the run's report begins with the reason, and so does plain `gpuadm doctor` afterwards: not that kubeadm's
# time is up, but the flag that is unknown, the image or the plugin that is missing.
. "$(dirname "$0")/common"

a_host node
cp cluster.yaml good.yaml
# Before v1beta4 kubeadm waits four minutes for the control plane; one is enough here.
short=
if grep -qE '^kubernetes: *"?v?1\.(2[0-9]|30)' "$bundle/manifest.yaml"; then short='apiServer: { timeoutForControlPlane: 60s }, '; fi

# doctor_begins_with PATTERN [SECONDS]: within so many seconds; the kubelet takes some to meet a fault.
doctor_begins_with() {
  local deadline=$((SECONDS + ${2:-0}))
  until gpuadm doctor -f cluster.yaml --fail-on never >out 2>err && head -n 1 out | grep -qE "^(First broken link|Warning): .*$1"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "doctor does not begin with $1: $(head -n 3 out err)"
    sleep 2
  done
}
again() {
  exits 0 gpuadm reset -f good.yaml -y
  rm -rf .local/state/gpuadm
}

# etcd does not know a flag.
sed "s/^patches:\$/&\n  clusterConfiguration: { ${short}etcd: { local: { extraArgs: { no-such-flag: \"1\" } } } }/" good.yaml >cluster.yaml
exits 1 init -y
grep -qE '^kubeadm init failed on node: etcd exits with status [0-9]+: .*no-such-flag' out || fail "the report does not begin with the reason"
grep -q 'then: gpuadm doctor node' out || fail "the report does not say what to type"
find .local/state/gpuadm -name reasons.json | grep -q . || fail "there is no reasons.json"
jq -e '[.failures[] | select(.cause // "" | test("no-such-flag"))] | length == 1' "$(find .local/state/gpuadm -name report.json)" >/dev/null ||
  fail "report.json does not have the cause"
# In the moment in which etcd is started again, only the API server is down.
doctor_begins_with 'etcd exits with status [0-9]+: .*no-such-flag.*\(kubelet.containers\)' 60
grep -q '^Checked node as an unfinished node' out || fail "doctor does not say what it checked"
again

# The kubelet does not know one.
cp good.yaml cluster.yaml
[ -z "$short" ] || sed -i "s/^patches:\$/&\n  clusterConfiguration: { ${short%, } }/" cluster.yaml
on node 'echo KUBELET_EXTRA_ARGS=--no-such-flag=1 >/etc/default/kubelet'
exits 1 init -y
grep -q '^kubeadm init failed on node: --no-such-flag is not a known kubelet flag' out || fail "the report does not begin with the reason"
grep -q 'fix:  remove --no-such-flag from .*/etc/default/kubelet, then: systemctl restart kubelet' out || fail "the report does not say where"
grep -q '"message": "the kubelet exits: .*no-such-flag"' "$(find .local/state/gpuadm -name reasons.json)" || fail "the kubelet's own line is not in reasons.json"
doctor_begins_with '--no-such-flag is not a known kubelet flag'
on node rm /etc/default/kubelet
again

# The kubelet and the runtime disagree on the cgroup driver. From 1.34 on the kubelet takes what the runtime says.
if ! kubernetes_is_at_least 1.34; then
  on node 'echo KUBELET_EXTRA_ARGS=--cgroup-driver=cgroupfs >/etc/default/kubelet'
  exits 1 init -y
  grep -q '^kubeadm init failed on node: the kubelet and the container runtime use different cgroup drivers' out || fail "the report does not begin with the reason"
  doctor_begins_with 'different cgroup drivers'
  on node rm /etc/default/kubelet
  again
fi

# CoreDNS's image disappears before its pods start.
cp good.yaml cluster.yaml
if has_image coredns; then
  coredns=$(image_of coredns)
  init_begins
  in_phase kube/init "$running" || fail "kubeadm init was not begun"
  on node "ctr -n k8s.io images rm $coredns" >/dev/null
  ! wait "$running" || fail "init ended well without CoreDNS"
  grep -qE "failed on node: .*$coredns" out || fail "the report does not begin with the reason"
  doctor_begins_with "$coredns"
  again
else
  leaves_out "CoreDNS's image: the bundle of $(kubernetes_version) has none"
fi

# No space for images.
on node systemctl stop containerd
full node /var/lib/containerd
on node systemctl start containerd
exits 3 init -y
head -n 1 out | grep -q 'no space is left for images (host.disk.root-free)' || fail "the report does not begin with the full disk"
doctor_begins_with 'no space is left for images'
on node 'systemctl stop containerd; umount -l /var/lib/containerd; systemctl start containerd'

# On a node that runs: a network plugin's program, the sandbox image.
exits 0 init -y
exits 0 gpuadm doctor -f cluster.yaml --fail-on blocker
grep -q '^Checked node as a control-plane node of cluster node (node, cluster)' out || fail "doctor does not say what it checked"
pod() { administer node run "$1" --image=lab.local/sleep:1 --image-pull-policy=Never -- 0 >/dev/null; }
deadline=$((SECONDS + 240))
until administer node get serviceaccount default >/dev/null 2>&1; do
  [ "$SECONDS" -lt "$deadline" ] || fail "there is no service account"
  sleep 1
done

on node 'mkdir /root/cni && mv /usr/lib/cni/bridge /root/cni/'
pod without-plugin
doctor_begins_with 'the network plugin bridge is not installed \(net.cni-plugin\)' 60
on node 'mv /root/cni/bridge /usr/lib/cni/'
administer node delete pod without-plugin --grace-period=1 >/dev/null

# shellcheck disable=SC2016 # expanded on the host
on node 'for image in $(ctr -n k8s.io images ls -q | grep pause); do ctr -n k8s.io images rm "$image"; done' >/dev/null
pod without-sandbox
doctor_begins_with 'the sandbox image .*pause:.* is missing: .*\(rt.sandbox-missing\)' 90
