#!/usr/bin/env bash
# What is wrong with a snapshot, or with the command line, is said before anything is connected to. Then only control planes must answer, and not those that
# are lost.
. "$(dirname "$0")/common"

exits 2 gpuadm etcd restore missing.db 127.0.0.1:1
complains "missing.db"
head -c 1000 /dev/zero >cut.db
exits 3 gpuadm etcd restore cut.db 127.0.0.1:1 -y
complains "cut.db is damaged: 1000 bytes are not a complete etcd snapshot"
head -c 1056 /dev/zero >zero.db
exits 3 gpuadm etcd restore zero.db 127.0.0.1:1 -y
complains "its checksum does not match"
# An intact one, for hosts that cannot be reached: only control planes are needed, and --lost is named.
{ head -c 1024 /dev/zero && head -c 1024 /dev/zero | sha256sum | cut -d' ' -f1 | sed 's/../\\x&/g' | xargs -0 printf '%b' | head -c 32; } >good.db
exits 4 gpuadm etcd restore good.db 127.0.0.1:1 -y
complains "permanently lost: --lost HOST"
exits 2 gpuadm etcd restore good.db 127.0.0.1:1 --lost 127.0.0.1:1 -y
complains "127.0.0.1:1 is given as a host and as lost"
cat >cluster.yaml <<'END'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
controlPlane: { endpoint: "lb:6443" }
hosts:
  - { name: cp1, address: 127.0.0.1, role: controlPlane }
  - { name: cp2, address: 127.0.0.2, role: controlPlane }
  - { name: cp3, address: 127.0.0.3, role: controlPlane }
  - { name: w1, address: 127.0.0.4 }
END
exits 2 gpuadm etcd restore good.db -f cluster.yaml --port 1 --lost cp4 -y
complains "cluster.yaml has no host named cp4"
exits 4 gpuadm etcd restore good.db -f cluster.yaml --port 1 --lost cp2,cp3 -y
complains "cp1"
! grep -qE 'cp2|cp3|w1|hosts are unreachable' err || fail "hosts that are not needed are named"
exits 4 gpuadm certs renew -f cluster.yaml --port 1 -y
complains "3 hosts are unreachable"
! grep -q w1 err || fail "a worker is needed"
exits 4 gpuadm repair address -f cluster.yaml --port 1 -y
complains "w1"
exits 2 gpuadm etcd snapshot --to cut.db 127.0.0.1:1
complains "cut.db already exists"
exits 2 gpuadm certs renew --within 400 127.0.0.1:1
exits 2 gpuadm certs renew --within 10 --all 127.0.0.1:1
exits 2 gpuadm repair
