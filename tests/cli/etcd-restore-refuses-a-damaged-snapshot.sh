#!/usr/bin/env bash
# What is wrong with a snapshot, or with the command line, is said before anything is connected to.
. "$(dirname "$0")/common"

exits 2 gpuadm etcd restore missing.db 127.0.0.1:1
complains "missing.db"
head -c 1000 /dev/zero >cut.db
exits 3 gpuadm etcd restore cut.db 127.0.0.1:1 -y
complains "cut.db is damaged: 1000 bytes are not a complete etcd snapshot"
head -c 1056 /dev/zero >zero.db
exits 3 gpuadm etcd restore zero.db 127.0.0.1:1 -y
complains "its checksum does not match"
exits 2 gpuadm etcd snapshot --to cut.db 127.0.0.1:1
complains "cut.db already exists"
exits 2 gpuadm certs renew --within 400 127.0.0.1:1
exits 2 gpuadm certs renew --within 10 --all 127.0.0.1:1
exits 2 gpuadm repair
