#!/usr/bin/env bash
# After init and reset a host is what it was: every file with its sum, owner and time, units, parameters, modules, rules,
# interfaces, mounts, packages, images. A runtime that was there is given back. Then it can be made a node again.
. "$(dirname "$0")/common"

# Left out: when units were started (the runtime reads its own settings again), and what containerd and Docker make in
# their stores when pods run.
snapshot() { lab snapshot node | sed -E '/^store .*\/var\/lib\/(containerd|docker)/d; s/ActiveEnterTimestampMonotonic=[0-9]+//'; }
packages() { on node "dpkg-query -W -f '\${Package} \${Version} \${db:Status-Abbrev}\n'"; }
reset() { gpuadm reset -f cluster.yaml "$@"; }

gives_back() { # gives_back WORD
  snapshot >after
  packages >packages.after
  diff before after || fail "$1: reset left something"
  diff packages.before packages.after || fail "$1: other packages"
  on node '[ ! -e /var/lib/gpuadm ]' || fail "$1: /var/lib/gpuadm is still there"
}

a_host node
# Something of its owner's in every place where a cluster writes.
on node sh -s <<'END'
set -e
mkdir -p /etc/cni/net.d /opt/cni/bin /root/.kube
printf '{}\n' >/etc/cni/net.d/87-theirs.conflist.off
printf '#!/bin/sh\n' >/opt/cni/bin/theirs && chmod 0755 /opt/cni/bin/theirs
printf 'theirs\n' >/root/.kube/notes
iptables -N THEIRS
iptables -A THEIRS -s 192.0.2.7 -m comment --comment "kept as it is" -j ACCEPT
iptables -I INPUT -j THEIRS
ctr -n k8s.io images ls -q >/dev/null
END
snapshot >before
packages >packages.before

exits 0 init -y
has_a_cluster node

exits 2 reset
complains "there is no terminal to ask on"
exits 0 reset --dry-run
says "No pod is left in containerd"
says "The cluster's state is removed"
has_a_cluster node

exits 0 reset -y
gives_back containerd
exits 0 reset -y
says "nothing is to be done"

# And again, cut off in the middle: the next one goes on.
exits 0 init -y
has_a_cluster node
"$top/tests/lab/lab" net "$GPUADM" reset -f cluster.yaml -y >out 2>err </dev/null &
running=$!
in_phase reset/state "$running"
kill -KILL "$running"
wait "$running" || true
exits 0 reset -y
gives_back "cut off"
