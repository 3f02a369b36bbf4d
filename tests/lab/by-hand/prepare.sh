# shellcheck shell=sh
# The first part of by-hand-init and by-hand-join; both run on the host as root: sh -es NAME ADDRESS NUMBER, where
# NUMBER is the node's own /24 of the pod network. The bundle's files are under $files; `run` sets $version, $api, $skip, $pause and
# $kubelet_settings before this.
# shellcheck disable=SC2034,SC2154 # name and address are for the second part
name=$1 address=$2 number=$3
files=/var/lib/containerd/bundle

wait_for() { # wait_for SECONDS WHAT COMMAND...
  deadline=$(($(date +%s) + $1))
  what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ "$(date +%s)" -ge "$deadline" ]; then
      echo "gave up waiting for $what" >&2
      return 1
    fi
    sleep 0.5
  done
}

# Kernel.
cat >/etc/sysctl.d/99-kubernetes.conf <<'E'
net.bridge.bridge-nf-call-iptables = 1
net.ipv4.ip_forward = 1
E
sysctl -q -p /etc/sysctl.d/99-kubernetes.conf

# Runtime and images.
install -m 0755 "$files"/bin/* /usr/bin/
if command -v dockerd >/dev/null; then
  # dockershim
  socket=/var/run/dockershim.sock
  flags='--network-plugin=cni --cni-bin-dir=/usr/lib/cni'
  for image in "$files"/images/*.tar; do docker load --quiet --input "$image"; done
else
  socket=/run/containerd/containerd.sock
  flags=
  sed -i "/io.containerd.grpc.v1.cri\"\]/a\  sandbox_image = \"$pause\"" /etc/containerd/config.toml
  systemctl restart containerd
  wait_for 20 'containerd' ctr version
  for image in "$files"/images/*.tar; do ctr -n k8s.io images import "$image"; done
fi
rm -rf "$files"

# Network plugin: a bridge on this node.
mkdir -p /etc/cni/net.d
cat >/etc/cni/net.d/10-bridge.conflist <<E
{
  "cniVersion": "0.3.1",
  "name": "bridge",
  "plugins": [
    { "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
      "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.244.$number.0/24" }]], "routes": [{ "dst": "0.0.0.0/0" }] } },
    { "type": "portmap", "capabilities": { "portMappings": true } }
  ]
}
E

# kubelet.
cat >/etc/systemd/system/kubelet.service <<'E'
[Unit]
Description=kubelet
Wants=network-online.target
After=network-online.target

[Service]
Environment=KUBELET_KUBECONFIG_ARGS="--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
Restart=always
StartLimitInterval=0
RestartSec=2

[Install]
WantedBy=multi-user.target
E
printf 'KUBELET_EXTRA_ARGS="%s"\n' "$flags" >/etc/default/kubelet
systemctl daemon-reload
systemctl enable --quiet kubelet
