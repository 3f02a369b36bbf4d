# shellcheck shell=sh disable=SC2034
# The kubeconfig of scripts that run kubectl: on a control-plane node the administrator's, on the operator's machine the one that gpuadm was
# given. gpuadm sends this file before them as one program; a script that is run manually loads it from its own folder.
kubeconfig_is_here=yes

# find_kubeconfig: sets config to the kubeconfig of --kubeconfig (client_kubeconfig), otherwise to the administrator's on this host; empty: there
# is none. everywhere: kubectl's option for all namespaces that may be read.
find_kubeconfig() {
  config=${client_kubeconfig:-} everywhere=-A
  if [ -n "$config" ]; then
    everywhere="-n ${client_namespace:-default}"
    command -v kubectl >/dev/null || { echo 'kubectl is not installed on this machine' >&2 && exit 4; }
    return
  fi
  for file in /etc/kubernetes/admin.conf /etc/kubernetes/super-admin.conf /etc/rancher/rke2/rke2.yaml; do
    [ -n "$config" ] || [ ! -r "$file" ] || config=$file
  done
}
