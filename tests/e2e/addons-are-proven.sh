#!/usr/bin/env bash
# gpuadm addon with a real Prometheus of Debian on two nodes: enable proves that its targets are up, settings change, verify repeats the proof,
# a fault of a target is named, disable deletes exactly what enable made and the metrics stay. local-path (a double of the provisioner) binds a
# claim. What cannot be enabled is refused, an image that is missing is named in time, and nothing is left of either.
. "$(dirname "$0")/common"

prometheus=$(lab prometheus)
ready_nodes 1 one two
"$top/tests/lab/local-path-double/make" "$bundle" images
for name in one two; do
  on "$name" 'ctr -n k8s.io images import -' <"$prometheus" >/dev/null
  for image in images/*.tar; do on "$name" 'ctr -n k8s.io images import -' <"$image" >/dev/null; done
done
mkdir -p assets/playbooks
with_image() { sed "s,^  prometheus_image: .*,  prometheus_image: $1," "$top/playbooks/catalog.yaml" >assets/playbooks/catalog.yaml; }
with_image lab.local/prometheus:1
addon() { gpuadm addon "$1" "${@:2}" -f cluster.yaml --assets assets; }
kube() { administer one "$@"; }
# Every object of the cluster, by kind and name, without what controllers and nodes write.
objects() {
  kube get namespaces,serviceaccounts,configmaps,secrets,services,deployments,daemonsets,pods,persistentvolumeclaims,persistentvolumes,clusterroles,clusterrolebindings,roles,rolebindings,storageclasses,apiservices -A \
    -o 'custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name' --no-headers | sort
}
leaves_nothing() {
  objects >objects.now
  diff objects.before objects.now >objects.diff || fail "$1: $(cat objects.diff)"
}

# The namespace of init's network test may still be in deletion.
no_test_is_left() { [ -z "$(kube get namespace gpuadm-verify --ignore-not-found -o name)" ]; }
within 240 "the namespace of the network test to be deleted" no_test_is_left
exits 0 gpuadm storage add scratch local --host two --path /data -f cluster.yaml -y
objects >objects.before

# The catalogue, and what does not fit.
exits 0 addon list
says "prometheus"
exits 0 gpuadm addon show kubeflow-trainer
says "gpuadm train run -f FILE"
exits 2 addon enable promtheus
complains "did you mean prometheus?"
exits 2 addon enable prometheus --set retension=1d
complains "did you mean retention?"
exits 2 addon enable prometheus --set storage=nothing
complains "the cluster has no storage named nothing"
exits 0 addon disable prometheus
says "is not enabled: nothing to do"
exits 3 addon verify prometheus
complains "is not enabled"
exits 3 addon enable dcgm-exporter
complains "no node has the label nvidia.com/gpu.present=true"
exits 2 addon enable local-path
complains "needs --set storage=NAME"
leaves_nothing "what was refused"

# A namespace, and a name, of others.
kube create namespace gpuadm-prometheus >/dev/null
exits 3 addon enable prometheus
complains "objects of others have names of the add-on prometheus: Namespace gpuadm-prometheus"
kube delete namespace gpuadm-prometheus >/dev/null
kube create clusterrole gpuadm-prometheus --verb=get --resource=nodes >/dev/null
exits 3 addon enable prometheus
complains "ClusterRole gpuadm-prometheus"
kube delete clusterrole gpuadm-prometheus >/dev/null

# An image that is missing, and Ctrl-C.
with_image 127.0.0.1:1/none:1
exits 1 addon enable prometheus --set storage=scratch --wait-timeout 120
complains "127.0.0.1:1/none:1"
complains "deleted what was created of the add-on prometheus"
leaves_nothing "an image that is missing"
absent two /data/gpuadm-scratch/claims/gpuadm-prometheus/metrics || fail "the folder of a failed enable is left"
interrupted 240 '^prometheus: waiting for' addon enable prometheus -f cluster.yaml --assets assets
grep -qF "deleted what was created" seen || fail "it does not say that it was deleted"
leaves_nothing "Ctrl-C"

# Enabled with its metrics on a storage, and proven.
with_image lab.local/prometheus:1
exits 0 addon enable prometheus --set storage=scratch --set retention=2d
says "the add-on prometheus is enabled"
says "targets are up (cadvisor, kubelet, prometheus)"
complains "the health metrics of nodes are not served"
exits 0 addon list -o json
jq -e '.addons[] | select(.name == "prometheus") | .state == "ready" and .settings.retention == "2d"' out >/dev/null || fail "the list is wrong"
exits 0 gpuadm workload list -f cluster.yaml
says "addon"
exits 0 gpuadm storage list -f cluster.yaml -o json
jq -e '.storage[0].claims == ["gpuadm-prometheus/metrics"]' out >/dev/null || fail "the storage does not have the claim"
[ "$(on two 'ls -d /data/gpuadm-scratch/claims/gpuadm-prometheus/metrics/wal')" ] || fail "no metrics on the storage"

# Repeated, it changes settings; the pod has them. The storage cannot change.
exits 0 addon enable prometheus --set storage=scratch --set retention=5d
kube -n gpuadm-prometheus get deployment prometheus -o yaml | grep -q 'retention.time=5d' || fail "the setting did not change"
exits 3 addon enable prometheus
complains "is enabled with the storage scratch, and cannot change to no storage"
exits 0 addon verify prometheus
says "the add-on prometheus works"

# A node whose kubelet is away is named.
on one systemctl stop kubelet
exits 1 addon verify prometheus --wait-timeout 90
complains "10250"
on one systemctl start kubelet
exits 0 addon verify prometheus

# A field that others changed is a conflict, which is named; nothing is deleted then.
kube -n gpuadm-prometheus patch service prometheus -p '{"spec":{"ports":[{"port":9090,"targetPort":9091}]}}' >/dev/null
exits 1 addon enable prometheus --set storage=scratch --set retention=5d
complains "conflict"
kube -n gpuadm-prometheus get deployment prometheus >/dev/null || fail "a conflict has deleted the add-on"

# Who may change ConfigMaps in the namespace lists objects of the cluster, and the volume of another claim. They survive disable and a second
# enable, and are named; nothing is deleted without a question.
exits 0 gpuadm storage claim models --on scratch --size 1Gi -f cluster.yaml
kube create clusterrole theirs --verb=get --resource=nodes >/dev/null
listed() { printf '{"apiVersion":"%s","kind":"%s","namespace":"%s","name":"%s"}' "$@"; }
rbac=rbac.authorization.k8s.io/v1
forged="$(listed $rbac ClusterRoleBinding '' cluster-admin),$(listed v1 Namespace '' kube-system),$(listed v1 PersistentVolume '' gpuadm-scratch.default.models),$(listed $rbac ClusterRole '' theirs),$(listed v1 Node '' one),$(listed $rbac ClusterRole '' gpuadm-old)"
kube create clusterrole gpuadm-old --verb=get --resource=nodes >/dev/null
kube label clusterrole gpuadm-old app.kubernetes.io/managed-by=gpuadm gpuadm.io/kind=addon gpuadm.io/name=prometheus >/dev/null
kube -n gpuadm-prometheus get configmap gpuadm-addon -o json | jq --arg forged "$forged" '.data["objects.json"] |= sub("\\]$"; "," + $forged + "]") |
  del(.metadata.managedFields, .metadata.resourceVersion, .metadata.uid, .metadata.creationTimestamp)' >forged.json
# As the field manager of gpuadm, whose name everybody may use.
forge() { kube apply --server-side --force-conflicts --field-manager=gpuadm -f - <forged.json >/dev/null; }
survive() {
  kube get clusterrolebinding/cluster-admin namespace/kube-system persistentvolume/gpuadm-scratch.default.models clusterrole/theirs node/one -o name >survivors ||
    fail "$1 has deleted what a forged inventory lists: only $(paste -sd' ' survivors) are left"
  [ "$(kube get namespace kube-system -o 'jsonpath={.status.phase}')" = Active ] || fail "$1 has deleted the namespace kube-system"
}
forge
exits 2 addon disable prometheus
complains "no terminal to ask for confirmation"
says "Deployment gpuadm-prometheus/prometheus"
exits 2 addon enable prometheus --set storage=scratch --set retention=5d
complains "no terminal to ask for confirmation"
kube get clusterrole gpuadm-old >/dev/null || fail "it was deleted without a question"
kube -n gpuadm-prometheus delete service prometheus >/dev/null
exits 0 addon enable prometheus --set storage=scratch --set retention=5d -y
says "ClusterRole gpuadm-old"
complains "Namespace kube-system: the add-on prometheus has no such objects"
survive "enable"
[ -z "$(kube get clusterrole gpuadm-old --ignore-not-found -o name)" ] || fail "an object of an earlier version is left"
forge
exits 0 addon disable prometheus -y
for kept in "ClusterRoleBinding cluster-admin: it does not have the labels" "Namespace kube-system: the add-on" \
  "PersistentVolume gpuadm-scratch.default.models: it does not have the labels" "ClusterRole theirs: " "Node one: "; do complains "$kept"; done
survive "disable"
kube delete clusterrole theirs >/dev/null
kube delete persistentvolumeclaim models >/dev/null
kube delete persistentvolume gpuadm-scratch.default.models >/dev/null
leaves_nothing "disable of a forged inventory"
# What cannot be read is not empty, and deletes nothing.
exits 0 addon enable prometheus --set storage=scratch --set retention=5d
kube -n gpuadm-prometheus patch configmap gpuadm-addon -p '{"data":{"objects.json":"["}}' >/dev/null
exits 1 addon disable prometheus -y
kube -n gpuadm-prometheus get deployment prometheus >/dev/null || fail "an inventory that cannot be read has deleted the add-on"
kube -n gpuadm-prometheus delete configmap gpuadm-addon >/dev/null
exits 0 addon enable prometheus --set storage=scratch --set retention=5d

# Disabled: what others have in its namespace stays, with the namespace; the metrics stay, and are used again.
kube -n gpuadm-prometheus create service clusterip theirs --tcp=80 >/dev/null
exits 0 addon disable prometheus -y
says "the namespace gpuadm-prometheus is kept, because others have objects in it: Service gpuadm-prometheus/theirs"
says "the data stays: /data/gpuadm-scratch/claims/gpuadm-prometheus/metrics on two"
with_image 127.0.0.1:1/none:1
exits 1 addon enable prometheus --set storage=scratch --wait-timeout 30
complains "deleted what was created of the add-on prometheus"
kube -n gpuadm-prometheus get service theirs >/dev/null || fail "a failed enable has deleted an object of others"
with_image lab.local/prometheus:1
kube delete namespace gpuadm-prometheus >/dev/null
# The record of the namespace, which was deleted by hand.
exits 0 addon disable prometheus -y
leaves_nothing "disable"
exits 0 addon enable prometheus --set storage=scratch
complains "the folder has existed before"
exits 0 addon disable prometheus -y
leaves_nothing "disable again"

# The default StorageClass: a claim is bound and written. Not next to another one, and not while claims use it.
kube apply -f - >/dev/null <<'END'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: theirs, annotations: { storageclass.kubernetes.io/is-default-class: "true" } }
provisioner: kubernetes.io/no-provisioner
END
exits 3 addon enable local-path --set storage=scratch
complains "the cluster has another default StorageClass: theirs"
kube delete storageclass theirs >/dev/null
exits 0 addon enable local-path --set storage=scratch
says "a claim was bound, and a pod on two wrote to it"
exits 0 addon verify local-path
kube apply -f - >/dev/null <<'END'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: mine }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
END
exits 3 addon disable local-path -y
complains "claims use the StorageClass local-path: PersistentVolumeClaim default/mine"
exits 3 gpuadm storage remove scratch -f cluster.yaml -y
kube delete pvc mine >/dev/null
exits 3 gpuadm storage remove scratch -f cluster.yaml -y
complains "the add-on local-path uses the storage scratch"
exits 0 addon disable local-path -y
leaves_nothing "disable of local-path"
absent two /data/gpuadm-scratch/volumes || fail "an empty folder is left"

# As part of its storage: it is known, and proven, and not enabled twice.
exits 0 gpuadm storage remove scratch -f cluster.yaml -y
exits 0 gpuadm storage add more local --host two --path /more --default-class -f cluster.yaml -y
exits 0 addon list
says "enabled with its storage"
exits 0 addon verify local-path
says "wrote to it"
exits 3 addon enable local-path --set storage=more
complains "was installed with its storage"

# Metrics of the health checks are scraped, and a reset does not ask about add-ons.
exits 0 addon enable prometheus
complains "without --set storage=NAME, the metrics are lost"
exits 0 gpuadm reset -f cluster.yaml -y
