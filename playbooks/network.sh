# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the pod network that uses the bridge plugin: each node has a bridge for its pod CIDR, and routes to the pod CIDRs of
# the other nodes, which must be in the same network segment.

bridge_config=/etc/cni/net.d/10-gpuadm.conflist
bridge_unit=/etc/systemd/system/gpuadm-pod-routes.service

# bridge_text CIDR
bridge_text() {
  cat <<END
{
  "cniVersion": "0.3.1",
  "name": "gpuadm",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "ipMasq": true,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [[{ "subnet": "$1" }]],
        "routes": [{ "dst": "0.0.0.0/0" }]
      }
    },
    { "type": "portmap", "capabilities": { "portMappings": true } }
  ]
}
END
}
bridge_is_there() { [ "$(cat "$bridge_config" 2>/dev/null)" = "$(bridge_text "$1")" ]; }
bridge_put() {
  content="$(bridge_text "$1")$gpuadm_newline"
  file_put "$bridge_config" 0600
}

bridge_rows='go-template={{range .items}}{{.metadata.name}} {{with .spec.podCIDR}}{{.}}{{end}} {{range .status.addresses}}{{if eq .type "InternalIP"}}{{printf "%q " .address}}{{end}}{{end}}{{"\n"}}{{end}}'
# bridge_nodes: "NAME CIDR ADDRESS" of every node. Fails if a node has no pod CIDR or no address yet. Since Kubernetes 1.32 a node
# may read no other nodes; the ClusterRole gpuadm-nodes in templates/ allows it.
bridge_nodes() {
  bridge_said=$(cluster_lines route) || bridge_said=$(node_kubectl get nodes -o "$bridge_rows") || return 1
  # A node writes its own addresses: they are quoted, so that they cannot add a line with a route for another node.
  bridge_said=$(printf '%s\n' "$bridge_said" | sed 's/"//g; s/ $//')
  ! printf '%s\n' "$bridge_said" | grep -Evqx '[a-z0-9.-]+ [0-9a-f.:/]+ [0-9a-f.:]+' || return 1
  printf '%s\n' "$bridge_said"
}
bridge_knows_nodes() {
  bridge_all=$(bridge_nodes) || return 1
  bridge_own=$(printf '%s\n' "$bridge_all" | awk -v node="$node_name" '$1 == node { print $2 }')
  [ -n "$bridge_own" ]
}

# bridge_rules CIDR: lines of the unit for packets from pods here to those of another node. The bridge plugin gives packets to other subnets
# the address of the node (ipMasq), which pods must not see of each other, and Open MPI refuses. Packets that kube-proxy has marked need
# the node's address: of a pod to itself through a Service.
bridge_rules() {
  case $1 in *:*) tool=$(command -v ip6tables) ;; *) tool=$(command -v iptables) ;; esac || return 0
  rule="POSTROUTING -s $bridge_own -d $1 -m mark ! --mark 0x4000/0x4000 -m comment --comment gpuadm-pods -j ACCEPT"
  printf 'ExecStart=-%s -w 10 -t nat -D %s\nExecStart=%s -w 10 -t nat -I %s\nExecStopPost=-%s -w 10 -t nat -D %s\n' "$tool" "$rule" "$tool" "$rule" "$tool" "$rule"
}

# bridge_routes_text: a unit that adds the routes to the other nodes ($bridge_all), and deletes them when it stops.
bridge_routes_text() {
  printf '[Unit]\nDescription=Routes to the pods of other nodes\nAfter=network-online.target\nWants=network-online.target\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=%s -V\n' "$ip"
  printf '%s\n' "$bridge_all" | sort | while read -r name cidr address; do
    [ "$name" != "$node_name" ] || continue
    printf 'ExecStart=%s route replace %s via %s\nExecStopPost=-%s route del %s via %s\n' "$ip" "$cidr" "$address" "$ip" "$cidr" "$address"
    bridge_rules "$cidr"
  done
  printf '\n[Install]\nWantedBy=multi-user.target\n'
}

bridge_join_check() {
  [ -f /etc/kubernetes/kubelet.conf ] || exit 1
  # A virtual address is unreachable for seconds during a failover.
  in_time 20 bridge_knows_nodes || exit 1
  bridge_is_there "$bridge_own" || exit 1
  ip=$(command -v ip)
  bridge_routes_text | cmp -s - "$bridge_unit" || exit 1
  unit_is_active "${bridge_unit##*/}" && ! unit_is_stale "${bridge_unit##*/}" || exit 1
}
bridge_join() {
  # The controller manager assigns the pod CIDRs, and its restarts are delayed increasingly if it started before its API server.
  in_time 180 bridge_knows_nodes ||
    die "not every node has a pod CIDR and an address: run kubectl get nodes -o wide, and kubectl -n kube-system logs -l component=kube-controller-manager"
  bridge_is_there "$bridge_own" || bridge_put "$bridge_own"
  ip=$(command -v ip)
  content="$(bridge_routes_text)$gpuadm_newline"
  bridge_unit_put "$bridge_unit"
}

# bridge_unit_put PATH: writes $content and starts the unit. The previous unit is stopped first, so that it deletes its own routes or
# rules.
bridge_unit_put() {
  bridge_name=${1##*/}
  journal_unit "$bridge_name"
  systemctl stop "$bridge_name" 2>/dev/null || : "it is new"
  file_put "$1" 0644 "$bridge_name"
  systemctl daemon-reload
  systemctl enable --quiet "$bridge_name"
  systemctl restart "$bridge_name"
  unit_is_fresh "$bridge_name"
}

# Docker and ufw set the policy of FORWARD to DROP. This unit accepts the packets of pods, regardless of the order at boot.
bridge_forward_unit=/etc/systemd/system/gpuadm-pod-forward.service
bridge_forward_text() {
  printf '[Unit]\nDescription=Forward packets of pods\nAfter=docker.service ufw.service\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n'
  for cidr in $(printf %s "$pod_cidr" | tr , ' '); do
    case $cidr in *:*) tool=$(command -v ip6tables) ;; *) tool=$(command -v iptables) ;; esac || continue
    for side in -s -d; do
      rule="FORWARD $side $cidr -m comment --comment gpuadm-pods -j ACCEPT"
      printf 'ExecStart=-%s -w 10 -D %s\nExecStart=%s -w 10 -I %s\nExecStopPost=-%s -w 10 -D %s\n' "$tool" "$rule" "$tool" "$rule" "$tool" "$rule"
    done
  done
  printf '\n[Install]\nWantedBy=multi-user.target\n'
}
bridge_forward_is_needed() {
  [ ! -f "$bridge_forward_unit" ] || return 0
  for tool in iptables ip6tables; do
    # iptables -S would create the table; iptables-save does not.
    ! have "$tool-save" || ! "$tool-save" -t filter 2>/dev/null | grep -q '^:FORWARD DROP' || return 0
  done
  return 1
}
bridge_forward_check() {
  bridge_forward_is_needed || return 0
  bridge_forward_text | cmp -s - "$bridge_forward_unit" || { bridge_forward_text | would_become "$bridge_forward_unit"; return 1; }
  unit_is_active "${bridge_forward_unit##*/}" && ! unit_is_stale "${bridge_forward_unit##*/}" || return 1
  for cidr in $(printf %s "$pod_cidr" | tr , ' '); do
    case $cidr in *:*) tool=ip6tables ;; *) tool=iptables ;; esac
    for side in -s -d; do
      ! have "$tool" || "$tool" -w 10 -C FORWARD "$side" "$cidr" -m comment --comment gpuadm-pods -j ACCEPT 2>/dev/null || return 1
    done
  done
}
bridge_forward() {
  content="$(bridge_forward_text)$gpuadm_newline"
  bridge_unit_put "$bridge_forward_unit"
}
