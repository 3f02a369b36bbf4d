# shellcheck shell=sh
# Prints the name of the cluster of a node, from kubeadm's ConfigMap, which nodes may read (kubeadm's Role kubeadm:nodes-kubeadm-config).
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
kubectl --kubeconfig /etc/kubernetes/kubelet.conf --request-timeout=10s -n kube-system get configmap kubeadm-config \
  -o 'jsonpath={.data.ClusterConfiguration}' | sed -n 's/^clusterName: *"\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' | head -n 1
