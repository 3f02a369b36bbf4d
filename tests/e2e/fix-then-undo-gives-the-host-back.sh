#!/usr/bin/env bash
# Faults are fixed by `doctor --fix`, and `undo` restores the host byte for byte; also after an init
# that went as far as the runtime.
. "$(dirname "$0")/common"

# The state of the host, except for start times of units, and files that containerd creates when it starts: undo restarts units that read
# a restored file. ldconfig generates the linker's cache again, with the same content.
snapshot() { lab snapshot node | sed -E '/^store /d; /time .*\/etc\/ld.so.cache/d; s/ActiveEnterTimestampMonotonic=[0-9]+//' | sort; }
open_findings() { jq -r '.findings[] | select(.result != "pass" and .result != "skip") | .id' out | sort -u; }

a_host node --gpu h200
on node sh -s <<'END'
set -e
sysctl -qw net.ipv4.ip_forward=0 net.bridge.bridge-nf-call-iptables=0
systemctl disable --now containerd.service 2>/dev/null
grep -vw "$(hostname)" /etc/hosts >/etc/hosts.new && cat /etc/hosts.new >/etc/hosts && rm /etc/hosts.new
printf '#!/bin/sh\n' >/usr/local/bin/crictl && chmod 0755 /usr/local/bin/crictl
printf 'timeout: 7\nruntime-endpoint: unix:///run/elsewhere.sock\n' >/etc/crictl.yaml && chmod 0640 /etc/crictl.yaml
printf 'deb https://apt.kubernetes.io/ kubernetes-xenial main\n' >/etc/apt/sources.list.d/kubernetes.list
chown gpu:gpu /etc/apt/sources.list.d/kubernetes.list
mkdir -p /etc/cni/net.d && printf '{}\n' >/etc/cni/net.d/10-flannel.conflist
printf '/usr/local/cuda/lib64\n/usr/local/cuda/lib64/stubs\n' >/etc/ld.so.conf.d/cuda.conf
ldconfig
touch -d '2021-03-04 05:06:07.123456789' /etc/crictl.yaml /etc/hosts /etc/cni/net.d/10-flannel.conflist
END
faults=kernel.sysctl.ip-forward,kernel.sysctl.bridge-nf-call,rt.present,host.hostname.resolves,rt.crictl.config
faults=$faults,kubeadm.repo-legacy,kubeadm.leftover-cni,gpu.driver.stub-in-path
snapshot >before

gpuadm doctor -f cluster.yaml --only "$faults" -o json >out 2>err || true
tr , '\n' <<<"$faults" | sort >wanted
open_findings | diff wanted - || fail "not every fault shows"
jq -e '[.findings[] | select(.result == "fail")] | all(.fixable)' out >/dev/null || fail "not every finding is said to have a fix"

# Nothing without consent, and nothing in a dry run, which shows what would change.
exits 2 gpuadm doctor -f cluster.yaml --only "$faults" --fix
gpuadm doctor -f cluster.yaml --only "$faults" --fix --dry-run >out 2>err || true
says "+# gpuadm: gone: deb https://apt.kubernetes.io/"
says "-runtime-endpoint: unix:///run/elsewhere.sock"
says "Enable and start containerd"
snapshot | diff before - || fail "a dry run changed something"

exits 0 gpuadm doctor -f cluster.yaml --only "$faults" --fix -y
says "fixed on node"
exits 0 gpuadm doctor -f cluster.yaml --only "$faults" -o json
[ -z "$(open_findings)" ] || fail "still open: $(open_findings)"
on node "grep -qx 'timeout: 7' /etc/crictl.yaml" || fail "a foreign setting is lost"
exits 0 gpuadm doctor -f cluster.yaml --only "$faults" --fix -y

exits 2 gpuadm undo -f cluster.yaml
exits 0 gpuadm undo -f cluster.yaml --dry-run
says "Restore /etc/crictl.yaml"
exits 0 gpuadm undo -f cluster.yaml -y
snapshot >after
diff before after || fail "undo left something"
exits 0 gpuadm undo -f cluster.yaml -y
says "nothing to undo"

# What others have changed since is kept and reported.
on node systemctl enable --now containerd.service 2>/dev/null
snapshot >before
exits 0 init --phases os/modules,os/sysctl,runtime/config -y
on node 'echo "theirs = 1" >/etc/sysctl.d/99-gpuadm.conf'
exits 1 gpuadm undo -f cluster.yaml -y
says "/etc/sysctl.d/99-gpuadm.conf is kept: it was changed by others since"
[ "$(on node cat /etc/sysctl.d/99-gpuadm.conf)" = "theirs = 1" ] || fail "it was written over"
exits 0 gpuadm undo -f cluster.yaml --force -y
snapshot >after
diff before after || fail "undo left something of init"
exits 0 gpuadm undo -f cluster.yaml -y
says "nothing to undo"
