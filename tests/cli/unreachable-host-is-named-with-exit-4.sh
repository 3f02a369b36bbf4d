#!/usr/bin/env bash
# Nobody listens there: exit 4, and the host is named. Of several hosts, each one is named.
. "$(dirname "$0")/common"

exits 4 gpuadm facts --connect-timeout 5 nobody@127.0.0.1:1
complains "127.0.0.1"
exits 4 gpuadm doctor --connect-timeout 5 nobody@127.0.0.1:1
says "host.ssh.reachable"

printf '%s\n' 'apiVersion: gpuadm/v1alpha1' 'kind: GpuCluster' 'ssh: { port: 1, user: me }' 'hosts:' \
  '- { name: cp1, address: 127.0.0.1 }' >cluster.yaml
for i in 1 2 3; do echo "- { name: gpu$i, address: 127.0.1.$i, role: worker }" >>cluster.yaml; done
# all_named COMMAND...: exits with 4 and names every host, the control plane first.
all_named() {
  exits 4 gpuadm "$@" -f cluster.yaml --ssh-client libssh2
  complains "4 hosts are unreachable:"
  for host in cp1 gpu1 gpu2 gpu3; do complains "  $host: 127.0."; done
  [ "$(grep -c 'check that the host is up' err)" = 1 ] || fail "the hint is not there once"
  grep -A1 'are unreachable' err | grep -q cp1 || fail "the control plane is not the first"
}
all_named apply -y
all_named reset -y
all_named undo -y
all_named verify
all_named addon list
all_named explain pod default/train
all_named certs rotate-encryption-key -y
exits 4 gpuadm remove gpu1 gpu2 -y -f cluster.yaml --ssh-client libssh2
complains "gpu1: 127.0.1.1:1: connection refused"
complains "gpu2: 127.0.1.2:1: connection refused"
complains "check that the host is up"
complains "use --force"
exits 4 gpuadm status -f cluster.yaml --ssh-client libssh2
says "Cluster gpuadm: the state is unknown: no control-plane node is reachable"

exits 4 gpuadm gpu top --count 1 -f cluster.yaml --ssh-client libssh2
says "cp1: not answering for"
! grep -q 'cp1: .*cp1: ' out || fail "the host is named twice in a line"
