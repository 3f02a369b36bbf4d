#!/usr/bin/env bash
# `gpuadm addon disable` deletes what the inventory lists only if the add-on can have such an object, and if it has the labels of the add-on.
# It shows the objects and asks. An inventory that cannot be read, and an object that was created again meanwhile, delete nothing. kubectl is
# a double.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/kubectl-double.sh
. "$top/tests/lib/kubectl-double.sh"
needs python3 jq

printf '#!/bin/sh\nAPI_STATE=%s exec %s "$@"\n' "$place/cluster.json" "$top/tests/lib/api-double" >bin/kubectl
chmod +x bin/kubectl
disable() { gpuadm --assets over addon disable prometheus "$@"; }

# An object: VERSION KIND NAMESPACE NAME [own] (with the labels of the add-on).
object() {
  jq -cn --arg version "$1" --arg kind "$2" --arg namespace "$3" --arg name "$4" --arg own "${5:-}" '{apiVersion: $version, kind: $kind,
    metadata: ({name: $name, uid: "uid-\($kind)-\($name | gsub("[^a-z]"; ""))"} + (if $namespace == "" then {} else {namespace: $namespace} end) +
      (if $own == "" then {} else {labels: {"app.kubernetes.io/managed-by": "gpuadm", "gpuadm.io/kind": "addon", "gpuadm.io/name": "prometheus"}} end))}'
}
rbac=rbac.authorization.k8s.io/v1
namespace=gpuadm-prometheus
own() {
  object v1 Namespace '' $namespace own
  object v1 ServiceAccount $namespace prometheus own
  object $rbac ClusterRole '' gpuadm-prometheus own
  object $rbac ClusterRoleBinding '' gpuadm-prometheus own
  object v1 Service $namespace prometheus own
  object apps/v1 Deployment $namespace prometheus own
  object v1 PersistentVolumeClaim $namespace metrics own
  object v1 PersistentVolume '' gpuadm-data.gpuadm-prometheus.metrics own | jq -c '.spec.claimRef = {namespace: "gpuadm-prometheus", name: "metrics"}'
}
# What the inventory lists besides: objects of others, also with labels of the add-on, which their owners can set.
theirs() {
  object $rbac ClusterRoleBinding '' cluster-admin
  object v1 Namespace '' kube-system
  object v1 Namespace '' default own
  object v1 PersistentVolume '' gpuadm-data.default.models | jq -c '.spec.claimRef = {namespace: "default", name: "models"}'
  object v1 PersistentVolume '' labeled own | jq -c '.spec.claimRef = {namespace: "default", name: "labeled"}'
  object v1 Node '' gpu1 own
  object v1 Secret $namespace keys own
  object v1 Service default web own
  object $rbac RoleBinding kube-system 'system:controller:token-cleaner' own
  object apiextensions.k8s.io/v1 CustomResourceDefinition '' jobs.example.com own
}
listed() { jq -c '{apiVersion, kind, namespace: (.metadata.namespace // ""), name: .metadata.name}'; }
# inventory TEXT: a cluster with that inventory.
inventory() {
  {
    own
    theirs
    object v1 ConfigMap $namespace gpuadm-addon own | jq -c --arg text "$1" '.data = {"objects.json": $text, "settings.json": "{}"}'
  } | jq -s . >cluster.json
  : >cluster.json.log
}
all=$({
  own
  theirs
  object v1 ConfigMap $namespace gpuadm-addon own
} | listed | jq -cs .)
names() { jq -r '.[] | .kind + " " + .metadata.name' cluster.json | sort; }
deletes_nothing() {
  ! grep '^delete' cluster.json.log || fail "it has deleted something"
}

inventory "$all"
names >before
exits 2 disable
complains "no terminal to ask for confirmation"
says "ClusterRole gpuadm-prometheus"
deletes_nothing
exits 0 disable --dry-run
says "dry run: nothing was changed"
deletes_nothing

exits 0 disable -y
theirs | jq -r '.kind + " " + .metadata.name' | grep -v 'Secret keys' | sort >expected
names >now
diff expected now || fail "the objects of the cluster are not those of others"
for kept in 'ClusterRoleBinding cluster-admin: it does not have the labels' 'Namespace kube-system: the add-on prometheus has no such objects' \
  'Namespace default: ' 'PersistentVolume gpuadm-data.default.models: it does not have the labels' \
  'PersistentVolume labeled: it is the volume of a claim in another namespace' 'Node gpu1: ' 'Secret gpuadm-prometheus/keys: ' \
  'Service default/web: ' 'RoleBinding kube-system/system:controller:token-cleaner: ' 'CustomResourceDefinition jobs.example.com: '; do
  complains "lists what is not deleted: $kept"
done

# Objects of others in the namespace keep it, also if they run nothing.
inventory "$all"
object v1 ConfigMap $namespace theirs | jq -c --slurpfile all cluster.json '$all[0] + [.]' >with-theirs
mv with-theirs cluster.json
exits 0 disable -y
says "the namespace $namespace is kept, because others have objects in it: ConfigMap $namespace/theirs"
names | grep -qx "Namespace $namespace" || fail "the namespace is deleted"

# Created again between the reading and the deletion: another object, which stays.
inventory "$all"
: >cluster.json.again
exits 0 disable -y
rm cluster.json.again
names >now
diff before now || fail "an object that was created again is deleted"

# What cannot be read is not empty.
for text in '' '{' '[]' '[{"kind":"Namespace"}]' '[1]' '"all"'; do
  inventory "$text"
  exits 1 disable -y
  deletes_nothing
done
# A name that would lead to another path of the API, and a line of its own.
inventory '[{"apiVersion":"v1","kind":"Service","namespace":"gpuadm-prometheus","name":"../../../namespaces/kube-system"},{"apiVersion":"v1","kind":"Service","namespace":"gpuadm-prometheus","name":"a\n/api/v1/namespaces/default uid-Namespace-default"}]'
exits 0 disable -y
deletes_nothing

# A namespace that others have created gives them rights in it, whatever its labels are: the add-on does not go there. Nor if the record of
# gpuadm is of a namespace that was deleted since.
record() { object v1 ConfigMap kube-system gpuadm-addon-prometheus own | jq -c --arg uid "$1" '.data = {"namespaceUID": $uid}'; }
enable() { gpuadm --assets over addon enable prometheus -y; }
for record in '' "$(record uid-of-another)"; do
  { object v1 Namespace '' kube-system && object v1 Namespace '' $namespace own && printf '%s' "$record"; } | jq -s . >cluster.json
  : >cluster.json.log
  exits 3 enable
  complains "the namespace $namespace exists, and gpuadm has not created it"
  ! grep -E '^(apply|delete|create)' cluster.json.log || fail "something was changed"
done
