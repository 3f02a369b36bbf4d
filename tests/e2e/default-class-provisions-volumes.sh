#!/usr/bin/env bash
# A local storage with the default StorageClass on the second of two nodes: a claim that names no class gets a volume there when its first pod
# starts, wherever else that pod could run; the pod writes to the storage, and another one reads it. Deleting the claim deletes its files. The
# storage is not removed while there are claims, a second default class is refused, and a reset takes the class away, not the files.
# local-path-provisioner is a double, because the lab cannot pull its image; scheduler, controllers and RBAC are real.
. "$(dirname "$0")/common"

ready_nodes 1 one two
"$top/tests/lab/local-path-double/make" "$bundle" images
for name in one two; do
  for image in images/*.tar; do on "$name" 'ctr -n k8s.io images import -' <"$image" >/dev/null; done
done
administer one taint nodes one node-role.kubernetes.io/control-plane:NoSchedule- >/dev/null 2>&1 || administer one taint nodes one node-role.kubernetes.io/master:NoSchedule- >/dev/null 2>&1 || :
claim() {
  administer one apply -f - >/dev/null <<END_OF_CLAIM || fail "no claim $1"
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: $1 }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
END_OF_CLAIM
}
deletes() { administer one delete pod "$@" --now >/dev/null; }
volumes=/data/gpuadm-scratch/volumes

exits 0 gpuadm storage add scratch local --host two --path /data --default-class -f cluster.yaml -y
[ "$(administer one get storageclasses -o 'jsonpath={.items[*].metadata.name}')" = local-path ] || fail "there is no class"
administer one -n local-path-storage wait --for=condition=Available --timeout=240s deployment/local-path-provisioner >/dev/null || fail "the provisioner does not run"
exits 0 gpuadm storage add scratch local --host two --path /data --default-class -f cluster.yaml -y
says "0 changed"

# Three claims, so that a scheduler that could choose either node would choose the first for one of them.
for name in first second third; do
  claim "$name"
  a_pod "$name" '' "$name" "echo text-$name >/data/file"
done
for name in first second third; do
  ends_well "$name"
  [ "$(administer one get pod "$name" -o 'jsonpath={.spec.nodeName}')" = two ] || fail "the pod $name runs on another node"
  [ "$(on two "cat $volumes/pvc-*_default_$name/file")" = "text-$name" ] || fail "the file of $name is not on the storage"
done
# shellcheck disable=SC2016 # of the pod
a_pod reads '' first 'read line </data/file && [ $line = text-first ]'
ends_well reads
deletes first second third reads

# The files of a claim go with it.
administer one delete pvc second third >/dev/null
for _ in $(seq 240); do
  [ -n "$(on two "ls $volumes | grep -E '_(second|third)$'" || :)" ] || break
  sleep 1
done
[ "$(on two "ls $volumes" | sed 's/^pvc-[0-9a-f-]*_//')" = default_first ] || fail "the folders are: $(on two "ls $volumes")"

# In use, and not twice.
exits 3 gpuadm storage remove scratch -f cluster.yaml -y
complains "claims use the StorageClass local-path of the storage scratch: default/first"
exits 2 gpuadm storage add more local --host one --path /srv/more --default-class -f cluster.yaml -y
complains "default"

exits 0 gpuadm reset -f cluster.yaml -y
[ "$(on two "cat $volumes/pvc-*_default_first/file")" = text-first ] || fail "the reset deleted files"
for name in one two; do on "$name" '[ ! -e /etc/kubernetes/gpuadm ] && [ ! -e /var/lib/gpuadm ]' || fail "the reset left something on $name"; done

