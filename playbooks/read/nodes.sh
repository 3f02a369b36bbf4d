# shellcheck shell=sh
# Prints "routed" if routes on every node connect pods, and a line per node: name, quoted machine id, quoted addresses. The exit status is
# kubectl's.
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
[ ! -f /etc/systemd/system/gpuadm-pod-routes.service ] || echo routed
kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s get nodes -o 'go-template={{range .items}}{{.metadata.name}}{{"\t"}}{{printf "%q" .status.nodeInfo.machineID}}{{"\t"}}{{range .status.addresses}}{{printf "%q " .address}}{{end}}{{"\n"}}{{end}}'
