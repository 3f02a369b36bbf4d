#!/usr/bin/env bash
# An older file is rewritten, with a backup; a current one is not changed; an unknown version is rejected.
. "$(dirname "$0")/common"

cat >cluster.yaml <<'Y'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
mirrors:  # of the institute
  docker.io: https://mirror.example.com
hosts: [{ name: cp1, address: 192.0.2.1 }]
Y
chmod 640 cluster.yaml
cp cluster.yaml before.yaml
ln -s cluster.yaml link.yaml
exits 2 gpuadm config validate cluster.yaml
complains "gpuadm config migrate rewrites the file"

exits 0 gpuadm config migrate --dry-run cluster.yaml
says "+  registries:"
cmp cluster.yaml before.yaml
[ ! -e cluster.yaml.bak ]

exits 0 gpuadm config migrate link.yaml
says "+    docker.io: https://mirror.example.com"
says "cluster.yaml.bak"
[ -L link.yaml ]
[ "$(stat -c %a cluster.yaml cluster.yaml.bak | sort -u)" = 640 ]
cmp cluster.yaml.bak before.yaml
grep -q '^mirrors:  # of the institute$' cluster.yaml
exits 0 gpuadm config validate cluster.yaml

cp cluster.yaml after.yaml
exits 0 gpuadm config migrate cluster.yaml
says "is in the current format"
cmp cluster.yaml after.yaml

cp before.yaml cluster.yaml
exits 2 gpuadm config migrate cluster.yaml
complains "cluster.yaml.bak already exists"
cmp cluster.yaml before.yaml

sed -i 's/v1alpha1/v1alpha9/' cluster.yaml
for verb in migrate validate; do
  exits 2 gpuadm config $verb cluster.yaml
  complains "cluster.yaml:1:13: apiVersion: expected gpuadm/v1alpha1, got 'gpuadm/v1alpha9' (did you mean gpuadm/v1alpha1?)"
done
exits 2 gpuadm config migrate missing.yaml
complains "missing.yaml"
