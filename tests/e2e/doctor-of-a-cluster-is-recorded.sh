#!/usr/bin/env bash
# What a control plane said is recorded without names, and judged elsewhere with the same findings; the archive for support
# has the logs, and nothing that was planted.
. "$(dirname "$0")/common"

judged() { jq -r '.findings[] | "\(.id) \(.result) \(.severity)"' "$1" | sort; }
result() { jq -e "$1" out >/dev/null || fail "not so: $1"; }

a_host node
exits 0 init -y

status=0
gpuadm doctor -f cluster.yaml --stage cluster --record kept -o json >here.json 2>err || status=$?
exits "$status" gpuadm doctor --from kept --stage cluster -o json
judged here.json >before
judged out >after
diff before after
result '.findings | map(select(.id | startswith("gk."))) | length > 20'
result '[.findings[] | select(.result == "pass")] | length > 20'
exits 0 gpuadm doctor --from kept --stage node --fail-on never
exits 0 gpuadm doctor --from kept --stage cluster --fail-on never
says "the whole cluster: "
address=$(lab address node)
lacks -F "$address" kept || fail "the recording has the address"
grep -qE $'^\\| host1\t' kept/cluster.txt || fail "the node has kept its name"
rm kept/cluster.txt
exits 2 gpuadm doctor --from kept --stage cluster
complains "the recording contains no cluster"

# Watched: changes in the cluster are reported.
on node kubectl --kubeconfig /etc/kubernetes/admin.conf taint nodes --all node-role.kubernetes.io/master=:NoSchedule
"$top/tests/lab/lab" net "$GPUADM" doctor -f cluster.yaml --stage cluster --watch=1 --only cl.nodes-taints >seen 2>err </dev/null &
running=$!
trap 'kill "$running" 2>/dev/null || true; lab down --all; rm -rf "$place"' EXIT
seen_within 240 ' new .*cl.nodes-taints'
on node kubectl --kubeconfig /etc/kubernetes/admin.conf taint nodes --all node-role.kubernetes.io/master-
seen_within 240 ' gone .*cl.nodes-taints'
kill -INT "$running"
wait "$running" || [ $? = 130 ] || fail "the watch ended otherwise"
trap 'lab down --all; rm -rf "$place"' EXIT

# Planted: in the kubelet's log and unit, in a pod's log, and a person with a home.
on node useradd --uid 1777 --create-home zaphod
on node mkdir -p /etc/systemd/system/kubelet.service.d
on node tee /etc/systemd/system/kubelet.service.d/99-more.conf >/dev/null <<'E'
[Service]
Environment="REGISTRY_PASSWORD=planted-password and more" OTHER_TOKEN=planted-token1
ExecStartPre=/bin/echo "joined with abcdef.planted012345678 by zaphod from 198.51.100.77, Authorization: Bearer planted-token2"
ExecStartPre=/bin/echo "pulled http://zaphod:planted-password@registry/ with {\"auth\":\"planted-token3\"} in /home/zaphod/.docker"
E
on node systemctl daemon-reload
on node systemctl restart kubelet
exits 0 gpuadm support -f cluster.yaml --output archive.tar.gz
says "host1 is node"
says "Review"
[ "$(stat -c %a archive.tar.gz)" = 600 ] || fail "others may read the archive"
tar --extract --gzip --file archive.tar.gz
tar --list --verbose --numeric-owner --gzip --file archive.tar.gz | awk '$2 != "0/0" { exit 1 }' || fail "the archive names its maker"
cd gpuadm-support-*
for file in README.txt doctor.txt recording/cluster.txt recording/hosts/host1/probe.txt hosts/host1/journal/kubelet.txt \
  hosts/host1/journal/containerd.txt hosts/host1/units/kubelet.txt hosts/host1/cluster/events.txt; do
  [ -s "$file" ] || { cd .. && fail "the archive has no $file"; }
done
[ -n "$(find hosts/host1/pods -path '*kube-apiserver*' -name '*.txt')" ] || { cd .. && fail "no log of the API server"; }
[ -n "$(find runs -name events.jsonl)" ] || { cd .. && fail "no events of init"; }
grep -q 'joined with \*\*\*' hosts/host1/journal/kubelet.txt || { cd .. && fail "the kubelet's log is not there"; }
for planted in planted zaphod 198.51.100.77 "$address"; do
  ! grep -rlF -- "$planted" . >../found || { cd .. && fail "the archive has $planted: $(cat found)"; }
done
cd ..
exits 0 gpuadm doctor --from gpuadm-support-*/recording --stage cluster --fail-on never
exits 2 gpuadm support -f cluster.yaml --output archive.tar.gz
complains "already exists"

