#!/usr/bin/env bash
# Swap on, containerd with its CRI off as Docker packages it, foreign settings: found, explained, kept.
. "$(dirname "$0")/common"

a_host node --image "$(lab fitting docker)" --swap --cri-disabled
on node sh -c 'cat >>/etc/containerd/config.toml && systemctl restart containerd' <<'END'
# the metrics are read by our own monitoring
[metrics]
  address = "127.0.0.1:1338"

[timeouts]
  "io.containerd.timeout.task.state" = "3s"
END
on node cat /etc/containerd/config.toml >config.before
gpuadm doctor -f cluster.yaml >out 2>err || true
says "host.disk.swap-on"
says "rt.containerd.disabled-cri"
exits 0 init -y
has_a_cluster node
on node cat /etc/containerd/config.toml >config.after
lost=$(grep -v '^disabled_plugins' config.before | grep -vxFf config.after || true)
[ -z "$lost" ] || fail "lost: $lost"
[ "$(on node cat /proc/swaps | wc -l)" -gt 1 ] || fail "swap was turned off"

# Docker sets the policy of FORWARD to DROP. Pods are forwarded anyway, and reset removes the rules and their unit.
rules() { on node iptables-save -t filter; }
rules >filter
grep -q '^:FORWARD DROP' filter || fail "Docker does not drop forwarded packets here: this test shows nothing"
[ "$(rules | grep -c 'comment gpuadm-pods .*ACCEPT')" = 2 ] || fail "pods are not forwarded"
changes_nothing init -y
# shellcheck disable=SC2016 # expanded on the host
on node 'iptables -D FORWARD $(iptables-save -t filter | sed -n "s/^-A FORWARD \(-s .*gpuadm-pods.*\)/\1/p")'
exits 0 init -y
[ "$(rules | grep -c 'comment gpuadm-pods .*ACCEPT')" = 2 ] || fail "a deleted rule is not restored"
exits 0 gpuadm reset -f cluster.yaml -y
rules >left || fail "the rules cannot be read"
lacks -F gpuadm-pods left || fail "reset leaves rules for pods"
on node '[ ! -e /etc/systemd/system/gpuadm-pod-forward.service ]' || fail "reset leaves the unit"
