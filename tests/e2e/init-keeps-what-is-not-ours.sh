#!/usr/bin/env bash
# Swap on, containerd with its CRI off as Docker packages it, a foreign setting: found, explained, kept.
. "$(dirname "$0")/common"

a_host node --image bookworm-docker --swap --cri-disabled
on node cat /etc/containerd/config.toml >config.before
gpuadm doctor -f cluster.yaml >out 2>err || true
says "host.disk.swap-on"
says "cri"
exits 0 init -y
has_a_cluster node
on node cat /etc/containerd/config.toml >config.after
grep -vE 'disabled_plugins' config.before | grep -E '^[[:space:]]*[a-z_]+ *=' | while read -r line; do
  grep -qF -- "$line" config.after || { echo "lost: $line" && exit 1; }
done
[ "$(on node cat /proc/swaps | wc -l)" -gt 1 ] || fail "swap was turned off"
