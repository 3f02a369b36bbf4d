# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the steps of the default StorageClass.

class_kubectl() { kube --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s "$@"; }
# class_others: default StorageClasses that are not gpuadm's, or belong to the add-on local-path.
class_others() {
  class_kubectl get storageclasses -o 'jsonpath={range .items[*]}{.metadata.name}{"\t"}{.metadata.annotations.storageclass\.kubernetes\.io/is-default-class}{"\t"}{.metadata.labels.app\.kubernetes\.io/managed-by}{"\t"}{.metadata.labels.gpuadm\.io/kind}{"\n"}{end}' |
    awk -F '\t' '$2 == "true" && ($3 != "gpuadm" || $4 != "") { print $1 }'
}
# class_claims: "NAMESPACE/NAME" of claims of the class.
class_claims() {
  class_kubectl get persistentvolumeclaims --all-namespaces -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\t"}{.spec.storageClassName}{"\n"}{end}' |
    awk -F '\t' '$2 == "local-path" { print $1 }'
}
# The folder of its volumes, $default_class_folder: in the marker of one storage.
storage_class_check() {
  [ "$storage_marker/volumes" = "$default_class_folder" ] || return 0
  { storage_hold_marker && storage_in volumes storage_exists ./.gpuadm; } || storage_needed
}
storage_class_put() {
  [ "$storage_marker/volumes" = "$default_class_folder" ] || return 0
  { storage_hold_marker && storage_has id; } || die "$storage_marker does not exist: run the phase storage/marker first"
  storage_volumes
}
