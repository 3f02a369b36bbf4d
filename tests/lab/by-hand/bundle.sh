# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # wait_for is from prepare.sh, $pause from run; init.sh and join.sh read $socket
# Programs and images from the bundle, which `run` has sent.
files=/var/lib/containerd/bundle

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
