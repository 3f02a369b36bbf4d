#!/usr/bin/env bash
# Options that do not fit together are refused before a host is contacted, in the words of the command line.
. "$(dirname "$0")/common"

exits 2 gpuadm storage add data smb
exits 2 gpuadm storage add data nfs --server nas.lab
complains "export: missing for kind nfs"
exits 2 gpuadm storage add Data nfs --server nas.lab --export /x
complains "name: expected"
exits 2 gpuadm storage add data path --path /etc
complains "/etc belongs to the system"
exits 2 gpuadm storage add data path --path /mnt/x --server nas.lab
complains "server: not a key of kind path"
exits 2 gpuadm storage add data nfs --server nas.lab --export /x --options secret=abcdef
complains "use keyFile"
hides abcdef
exits 2 gpuadm storage add team cephfs --monitors 10.0.0.1 --ceph-user ml
complains "--key-file"
printf 'AQDLvb1nAAAAABAA000000000000000000000w==\n' >key
chmod 0644 key
exits 2 gpuadm storage add team cephfs --monitors 10.0.0.1 --ceph-user ml --key-file key
complains "keyFile"
chmod 0600 key
echo nonsense >key
exits 2 gpuadm storage add team cephfs --monitors 10.0.0.1 --ceph-user ml --key-file key
complains "contains 0 keys of Ceph"
exits 2 gpuadm storage claim models --size ten --on data
complains "--size"
exits 2 gpuadm storage claim models --size 10 --on data
complains "did you mean 10Gi?"
exits 2 gpuadm storage claim Models --size 1Gi --on data
exits 2 gpuadm storage claim models --size 1Gi --on data --owner anna
complains "UID:GID"

cat >cluster.yaml <<'END'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
hosts: [{ name: one, address: 192.0.2.1 }]
END
exits 2 gpuadm storage add scratch local --host gpu1 --path /data -f cluster.yaml
complains "not one of the hosts"
exits 2 gpuadm storage add data path --path /mnt/x one -f cluster.yaml
complains "do not name hosts"
exits 0 gpuadm config explain storage
says "storage[].kind"
says "keyFile"
