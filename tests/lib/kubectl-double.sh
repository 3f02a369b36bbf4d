# shellcheck shell=bash disable=SC2154
# For tests in which kubectl on a control-plane node is a double: $place/bin/kubectl, for commands that get `--assets over`.
[ "$(id -u)" = 0 ] || skip 'needs root: gpuadm reads the cluster as root'
mkdir -p bin over/playbooks
cat >over/playbooks/kubeconfig.sh <<END
# shellcheck shell=sh disable=SC2034
kubeconfig_is_here=yes
PATH=$place/bin:\$PATH
find_kubeconfig() { config=none; }
END
