# shellcheck shell=sh
# Prints the cluster file that gpuadm stores on control planes, or nothing if there is none.
[ ! -f /etc/kubernetes/gpuadm/cluster.yaml ] || cat /etc/kubernetes/gpuadm/cluster.yaml
