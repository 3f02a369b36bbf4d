# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the pod network that is made of the bridge plugins: on each node a bridge for its part of the pod network, and
# routes to the other nodes' parts, which have to be in the same segment.

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
  file_put "$bridge_config" 0644
}

# bridge_nodes: "NAME CIDR ADDRESS" of every node. Fails while one of them has no part or no address yet. Since 1.32 a node may
# read no other than itself: the templates' gpuadm-nodes lets it.
bridge_nodes() {
  bridge_said=$(node_kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.spec.podCIDR}{" "}{.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}') || return 1
  ! printf '%s\n' "$bridge_said" | grep -Evqx '[a-z0-9.-]+ [0-9a-f.:/]+ [0-9a-f.:]+' || return 1
  printf '%s\n' "$bridge_said"
}
bridge_knows_nodes() {
  bridge_all=$(bridge_nodes) || return 1
  bridge_own=$(printf '%s\n' "$bridge_all" | awk -v node="$node_name" '$1 == node { print $2 }')
  [ -n "$bridge_own" ]
}

# bridge_routes_text: a unit that lays the ways to the other nodes ($bridge_all), and takes them away when it ends.
bridge_routes_text() {
  printf '[Unit]\nDescription=Routes to the pods of other nodes\nAfter=network-online.target\nWants=network-online.target\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=%s -V\n' "$ip"
  printf '%s\n' "$bridge_all" | sort | while read -r name cidr address; do
    [ "$name" != "$node_name" ] || continue
    printf 'ExecStart=%s route replace %s via %s\nExecStopPost=-%s route del %s via %s\n' "$ip" "$cidr" "$address" "$ip" "$cidr" "$address"
  done
  printf '\n[Install]\nWantedBy=multi-user.target\n'
}

bridge_join_check() {
  [ -f /etc/kubernetes/kubelet.conf ] || exit 1
  bridge_knows_nodes || exit 1
  bridge_is_there "$bridge_own" || exit 1
  ip=$(command -v ip)
  bridge_routes_text | cmp -s - "$bridge_unit" || exit 1
  unit_is_active "${bridge_unit##*/}" && ! unit_is_stale "${bridge_unit##*/}" || exit 1
}
bridge_join() {
  # The controller manager gives nodes their parts, and one that began before its API server is started later and later.
  in_time 180 bridge_knows_nodes ||
    die "not every node has a part of the pod network and an address: kubectl get nodes -o wide; kubectl -n kube-system logs -l component=kube-controller-manager"
  bridge_is_there "$bridge_own" || bridge_put "$bridge_own"
  ip=$(command -v ip)
  journal_unit "${bridge_unit##*/}"
  systemctl stop "${bridge_unit##*/}" 2>/dev/null || : "it is new"
  content="$(bridge_routes_text)$gpuadm_newline"
  file_put "$bridge_unit" 0644 "${bridge_unit##*/}"
  systemctl daemon-reload
  systemctl enable --quiet "${bridge_unit##*/}"
  systemctl restart "${bridge_unit##*/}"
  unit_is_fresh "${bridge_unit##*/}"
}
