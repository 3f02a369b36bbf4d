# shellcheck shell=sh
# Prints the administrator's kubeconfig, or nothing if the host has none.
[ ! -f /etc/kubernetes/admin.conf ] || cat /etc/kubernetes/admin.conf
