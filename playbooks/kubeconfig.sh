# shellcheck shell=sh disable=SC2034
# The kubeconfig of scripts that run kubectl on a control-plane node. gpuadm sends this file before them as one program; a script that is run
# manually loads it from its own folder.
kubeconfig_is_here=yes

# find_kubeconfig: sets config to the administrator's kubeconfig on this host; empty: there is none.
find_kubeconfig() {
  config=
  for file in /etc/kubernetes/admin.conf /etc/kubernetes/super-admin.conf /etc/rancher/rke2/rke2.yaml; do
    [ -n "$config" ] || [ ! -r "$file" ] || config=$file
  done
}
