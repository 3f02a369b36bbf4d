# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # wait_for is from prepare.sh, $version, $pause and $mirror from run; init.sh reads $socket
# Programs from the package repository and images from the registry at $mirror, as tests/lib/packages.sh serves them.
repository=http://$mirror:8080/core:/stable:/v${version%.*}/deb

# Packages. The host reaches no other repository than this one; apt contacts its configured ones anyway.
mkdir -p /etc/apt/keyrings
curl -fsSL "$repository/Release.key" -o /etc/apt/keyrings/kubernetes.asc
echo "deb [signed-by=/etc/apt/keyrings/kubernetes.asc] $repository/ /" >/etc/apt/sources.list.d/kubernetes.list
apt-get -qq update 2>/dev/null || :
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "kubelet=$version-*" "kubeadm=$version-*" "kubectl=$version-*"
apt-mark -qq hold kubelet kubeadm kubectl
systemctl enable --quiet kubelet

# Runtime.
socket=/run/containerd/containerd.sock
for registry in registry.k8s.io k8s.gcr.io; do
  mkdir -p "/etc/containerd/certs.d/$registry"
  printf 'server = "https://%s"\n[host."http://%s:5000"]\n  capabilities = ["pull", "resolve"]\n' "$registry" "$mirror" >"/etc/containerd/certs.d/$registry/hosts.toml"
done
sed -i "/io.containerd.grpc.v1.cri\"\]/a\  sandbox_image = \"$pause\"" /etc/containerd/config.toml
printf '[plugins."io.containerd.grpc.v1.cri".registry]\n  config_path = "/etc/containerd/certs.d"\n' >>/etc/containerd/config.toml
systemctl restart containerd
wait_for 20 'containerd' ctr version
