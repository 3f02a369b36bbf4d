#!/usr/bin/env bash
# Another key than the pinned one: exit 4, both keys and the line to type are named, and the host is not changed.
. "$(dirname "$0")/common"

a_host node
right=$(grep -oE 'SHA256:[^"]+' cluster.yaml)
sed -E -i 's|SHA256:A|SHA256:B|; t; s|SHA256:.|SHA256:A|' cluster.yaml
wrong=$(grep -oE 'SHA256:[^"]+' cluster.yaml)
[ "$wrong" != "$right" ] || fail "the pinned key is the right one"
exits 4 init -y
complains "node: the host key is "
complains "$right, but $wrong is pinned"
complains "pin its new key: hostKey: \"$right\""
absent node /var/lib/gpuadm || fail "the host was changed"
exits 4 gpuadm doctor -f cluster.yaml
says "$right, but $wrong is pinned (host.ssh.reachable)"
