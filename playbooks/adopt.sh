#!/bin/sh
# Reads how the cluster of a control plane was configured, and changes nothing: the cluster file that gpuadm stored, the
# configuration of kubeadm and kube-proxy in the cluster, and the flags of the static pods, which are available without an API
# server. The output is described in docs/reference/adopt.md.

# shellcheck source=playbooks/frame.sh
[ "${frame_is_here:-}" = yes ] || . "$(dirname "$0")/frame.sh"

configmap() {
  quiet "$1" 15 kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s -n kube-system \
    get configmap "$1" -o "jsonpath={.data.$2}"
}

everything() {
  export LC_ALL=C
  PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  echo 'gpuadm-probe 1'
  [ ! -r /etc/kubernetes/gpuadm/cluster.yaml ] || quiet intent 5 cat /etc/kubernetes/gpuadm/cluster.yaml
  for component in kube-apiserver kube-controller-manager; do
    [ ! -r "/etc/kubernetes/manifests/$component.yaml" ] ||
      quiet "flags/$component" 5 sed -n 's/^ *- \(--[a-z0-9-]*=.*\)$/\1/p' "/etc/kubernetes/manifests/$component.yaml"
  done
  if [ -r /etc/kubernetes/admin.conf ] && has kubectl; then
    configmap kubeadm-config ClusterConfiguration
    configmap kube-proxy 'config\.conf'
  fi
  echo '=== end'
}

answer=$(sections everything </dev/null)
printf '%s\n' "$answer"
