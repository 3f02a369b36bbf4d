#!/usr/bin/env bash
# exec runs the words after the two dashes unchanged; exec, logs and cp reject invalid arguments without connecting.
. "$(dirname "$0")/common"

exits 0 gpuadm exec -- echo --file 'two  words' -o json
[ "$(cat out)" = 'localhost| --file two  words -o json' ] || fail "the words are others"
exits 0 gpuadm exec -- 'echo one; echo two | tr o 0'
[ "$(cat out)" = $'localhost| one\nlocalhost| tw0' ] || fail "a line of sh is not run as one"
exits 1 gpuadm exec -- false
complains "localhost: exit status 1"
exits 0 gpuadm exec --raw -- 'printf "\001\n"'
says $'localhost| \001'
exits 2 gpuadm exec
complains "gpuadm exec HOST -- uptime"
printf '%s\n' 'apiVersion: gpuadm/v1alpha1' 'kind: GpuCluster' \
  'hosts: [{ name: cp1, address: 127.0.0.1, port: 1, user: me }, { name: cp2, address: 127.0.0.2, port: 1, user: me, role: worker }]' >cluster.yaml
exits 4 gpuadm exec -f cluster.yaml --ssh-client libssh2 -- true
complains "failed on 2 of 2 hosts"

exits 2 gpuadm logs --lines 3
exits 2 gpuadm logs 'a;b'
complains "invalid unit: 'a;b'"
exits 2 gpuadm logs ../kubelet
exits 2 gpuadm logs kubelet --since yesterday
complains "--since: invalid duration: 'yesterday'"
complains "for example --since 10m"
exits 1 gpuadm logs no-such-unit
complains "no-such-unit"

exits 2 gpuadm cp nothing --to /etc/motd
complains "nothing: no such file"
exits 2 gpuadm cp "$place" --to /etc/motd
complains "$place: is a directory"
exits 2 gpuadm cp /dev/null --to /etc/motd
complains "/dev/null: not a regular file"
echo hello >file
exits 2 gpuadm cp file --to etc/motd
complains "not an absolute path"
exits 2 gpuadm cp file
exits 0 gpuadm cp file --to "$place/there/" --dry-run
[ ! -e there ] || fail "a dry run has written"
exits 4 gpuadm cp file --to "$place/there/" -f cluster.yaml --ssh-client libssh2
says "preview failed on cp1: 127.0.0.1:1: connection refused"
[ "$(grep -c 'cp1.*connection refused' out)" = 1 ] || fail "the reason is not printed once"

# A kubeconfig that cannot be read is said before anything is asked.
mkdir .kube
echo '{ [' >.kube/config
exits 2 gpuadm kubeconfig -f cluster.yaml
complains ".kube/config"
exits 2 gpuadm kubeconfig -f cluster.yaml --context 'a b'
exits 2 gpuadm kubeconfig -f cluster.yaml --merge --output file
