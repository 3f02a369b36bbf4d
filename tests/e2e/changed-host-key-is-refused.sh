#!/usr/bin/env bash
# Another key than the pinned one: exit 4, the host and the line to type are named, nothing is sent.
. "$(dirname "$0")/common"

a_host node
sed -i 's|SHA256:.|SHA256:A|; s|SHA256:AA|SHA256:B|' cluster.yaml
exits 4 init -y
complains "node"
complains "SHA256:"
exits 4 gpuadm doctor -f cluster.yaml
says "host.ssh.reachable"
