# shellcheck shell=sh
# shellcheck disable=SC2154 # variables come from run and prepare.sh
mkdir -p /etc/kubernetes
cat >/etc/kubernetes/kubeadm.yaml <<E
apiVersion: kubeadm.k8s.io/$api
kind: JoinConfiguration
nodeRegistration: { name: $name, criSocket: $socket }
discovery:
  bootstrapToken: { apiServerEndpoint: $endpoint, token: $token, caCertHashes: ["$hash"] }
E
kubeadm join --config /etc/kubernetes/kubeadm.yaml --skip-phases=preflight
