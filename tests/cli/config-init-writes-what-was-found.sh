#!/usr/bin/env bash
# gpuadm config init: a file that gpuadm takes, which says what is on the hosts; nothing is written over.
. "$(dirname "$0")/common"

exits 0 gpuadm config init --from "$top/tests/recordings/h200-node" --name lab -o cluster.yaml
complains 'gpuadm config lint cluster.yaml'
exits 0 gpuadm config lint cluster.yaml
grep -q '^name: lab$' cluster.yaml
grep -q '^  # .*NVIDIA H200' cluster.yaml
grep -q '^  driver: use' cluster.yaml
exits 2 gpuadm config init --from "$top/tests/recordings/h200-node" -o cluster.yaml
complains 'already exists'
exits 2 gpuadm config init --from "$top/tests/recordings/h200-node" root@192.0.2.1
complains 'cannot be combined with hosts'

exits 0 gpuadm config init
says '    local: true'
cp out mine.yaml
exits 0 gpuadm config validate mine.yaml

exits 0 gpuadm config explain network
says 'network.podCIDR'
hides 'ssh.port'
exits 2 gpuadm config explain netwrk.podCIDR
complains 'did you mean network.podCIDR?'
