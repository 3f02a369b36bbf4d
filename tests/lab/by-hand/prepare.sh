# shellcheck shell=sh
# The first part of by-hand-init and by-hand-join; both run on the host as root: sh -es NAME ADDRESS NUMBER, where
# NUMBER is the node's own /24 of the pod network. `run` sets $version, $api, $skip, $pause, $kubelet_settings and $source
# (bundle, packages) before this.
# shellcheck disable=SC2034,SC2154 # name and address are for the second part
name=$1 address=$2 number=$3

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
