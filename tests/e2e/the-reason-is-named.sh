#!/usr/bin/env bash
# Where kubeadm or a wait fails, the run's report begins with the reason, and so does plain `gpuadm doctor` afterwards: not
# kubeadm's time that is up, but the flag, the image or the plugin.
. "$(dirname "$0")/common"

a_host node
cp cluster.yaml good.yaml

# with YAML: the cluster file with these patches. kubeadm gives up after a minute instead of four.
with() {
  sed '/^patches:$/,$d' good.yaml >cluster.yaml
  cat >>cluster.yaml <<END
patches:
  kubeProxy: { conntrack: { maxPerCore: 0, min: 0 } }
$1
END
}
short='apiServer: { timeoutForControlPlane: 60s }'

# names WHAT: init fails and names it in the first line of its report, in the JSON report and in the run folder; so does doctor.
names() {
  exits 1 init -y --phases "${phases:-}" -o json
  local cause
  cause=$(jq -r '[.failures[] | select(.cause != "")][0].cause' out)
  [[ $cause =~ $1 ]] || fail "the cause is not named: $1: $(jq -c .failures out)"
  find .local/state/gpuadm -name reasons.json | grep -q . || fail "no reasons.json"
  doctor_names "$1"
}
doctor_names() {
  gpuadm doctor -f cluster.yaml --fail-on never >out 2>err || fail "doctor: $(cat err)"
  head -n 1 out | grep -qE "^First broken link: .*$1" || fail "doctor does not begin with $1: $(head -n 3 out)"
}
again() {
  exits 0 gpuadm reset -f good.yaml -y
  rm -rf .local/state/gpuadm
}

with "  clusterConfiguration: { $short, etcd: { local: { extraArgs: { no-such-flag: \"1\" } } } }"
exits 1 init -y
grep -qE '^kubeadm init failed on node: etcd exits with status [0-9]+: .*no-such-flag' out || fail "the report does not begin with the reason"
grep -q 'then: gpuadm doctor node' out || fail "nothing to type"
doctor_names 'etcd exits with status [0-9]+: .*no-such-flag.*kubelet.containers'
says 'Checked node as an unfinished node'
again

with "  clusterConfiguration: { $short }
  runtime: { plugins: { \"io.containerd.grpc.v1.cri\": { sandbox_image: \"registry.invalid/pause:9\" } } }"
phases='' names 'sandbox image registry.invalid/pause:9 is missing'
again

with "  clusterConfiguration: { $short }"
on node 'echo KUBELET_EXTRA_ARGS=--no-such-flag=1 >/etc/default/kubelet'
names 'no-such-flag'
on node rm /etc/default/kubelet
again

# On a node that runs.
cp good.yaml cluster.yaml
exits 0 init -y
exits 0 gpuadm doctor -f cluster.yaml --fail-on blocker
says 'Checked node as a control plane (node, cluster)'

on node 'mv /opt/cni/bin/bridge /root/; ls -l /usr/lib/cni/bridge && mv /usr/lib/cni/bridge /root/bridge.real' >/dev/null
on node 'kubectl --kubeconfig /etc/kubernetes/admin.conf run web --image=lab.local/sleep:1 --image-pull-policy=Never -- 0' >/dev/null
deadline=$((SECONDS + 60))
until gpuadm doctor -f cluster.yaml --fail-on never >out 2>err && head -n 1 out | grep -q 'network plugin bridge is not installed'; do
  [ "$SECONDS" -lt "$deadline" ] || fail "the missing plugin is not named: $(head -n 3 out)"
  sleep 2
done
on node 'mv /root/bridge.real /usr/lib/cni/bridge; mv /root/bridge /opt/cni/bin/bridge'
