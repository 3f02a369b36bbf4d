# shellcheck shell=sh
# shellcheck disable=SC2154 # variables come from run, prepare.sh and the file of the source, wait_for from prepare.sh
# Control plane.
mkdir -p /etc/kubernetes
cat >/etc/kubernetes/kubeadm.yaml <<E
apiVersion: kubeadm.k8s.io/$api
kind: InitConfiguration
localAPIEndpoint: { advertiseAddress: $address }
nodeRegistration: { name: $name, criSocket: $socket, taints: [] }
---
apiVersion: kubeadm.k8s.io/$api
kind: ClusterConfiguration
kubernetesVersion: v$version
networking: { podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12 }
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
$kubelet_settings
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: { maxPerCore: 0, min: 0 }
E
[ "$source" = bundle ] || kubeadm config images pull --config /etc/kubernetes/kubeadm.yaml
kubeadm init --config /etc/kubernetes/kubeadm.yaml --skip-phases="$skip"

export KUBECONFIG=/etc/kubernetes/admin.conf
wait_for 120 "the node $name to be Ready" kubectl wait --for=condition=Ready --timeout=5s "node/$name"
pods_run() {
  pods=$(kubectl -n kube-system get pods --no-headers) || return 1
  for component in etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy; do
    printf '%s\n' "$pods" | grep -q "^$component-.* Running " || return 1
  done
}
wait_for 120 "the control plane's pods to run" pods_run
