# shellcheck shell=sh disable=SC2154
# Functions for the steps of playbooks/remove.yaml, which run on a remaining control plane. Loaded after reset.sh and etcd.sh.
# $leaving has one line per node: "NAME there|gone", depending on whether its host is reachable.

remove_kubectl() { kube --kubeconfig /etc/kubernetes/admin.conf "$@"; }

# remove_nodes [there|gone]: the leaving nodes that the cluster still has. Fails if the API server does not respond.
remove_nodes() {
  remove_all=$(remove_kubectl --request-timeout=10s get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}')
  printf '%s\n' "$leaving" | all=$remove_all state=${1:-} awk '
    BEGIN { lines = split(ENVIRON["all"], line, "\n"); for (i = 1; i <= lines; i++) there[line[i]] = 1 }
    NF == 2 && $1 in there && (ENVIRON["state"] == "" || ENVIRON["state"] == $2) { print $1 }'
}

# remove_pods NODE: pods on it that a drain would evict: not those of DaemonSets, static pods, or completed pods.
remove_pods() {
  remove_said=$(remove_kubectl --request-timeout=20s get pods -A --field-selector "spec.nodeName=$1" -o "$pod_rows")
  printf '%s\n' "$remove_said" |
    awk -F '\t' 'NF == 5 && $2 != "\"DaemonSet\"" && $2 != "\"Node\"" && $4 != "\"Succeeded\"" && $4 != "\"Failed\"" { print $1 }'
}

remove_is_drained() {
  remove_left=$(remove_nodes there)
  for remove_node in $remove_left; do
    [ "$(remove_kubectl --request-timeout=10s get node "$remove_node" -o 'jsonpath={.spec.unschedulable}')" = true ] || return 1
    remove_there=$(remove_pods "$remove_node")
    [ -z "$remove_there" ] || return 1
  done
}
# An unreachable node terminates no pods: its pods are started elsewhere after the node is deleted.
remove_drain() {
  remove_words=--delete-emptydir-data
  kubectl drain --help 2>/dev/null | grep -q -e --delete-emptydir-data || remove_words=--delete-local-data # before 1.20
  [ "$drain_force" != yes ] || remove_words="$remove_words --force"
  for remove_node in $(remove_nodes there); do
    # shellcheck disable=SC2086 # words
    remove_kubectl drain "$remove_node" --ignore-daemonsets $remove_words --timeout="${drain_timeout}s" ||
      die "cannot drain $remove_node: pods without a controller and pods protected by a PodDisruptionBudget are listed above. Use --force or a longer --drain-timeout; to cancel, run kubectl uncordon $remove_node"
  done
}

# --- etcd ------------------------------------------------------------------------------------------------

# remove_members: "ID NAME" of members on leaving nodes. Empty if this control plane has no local etcd.
remove_members() {
  [ -d "$etcd_data/member" ] || return 0
  remove_said=$(request etcd_client member list) || die "cannot list the etcd members: $(printf %s "$remove_said" | tail -n 1)"
  printf '%s\n' "$remove_said" | leaving=$leaving awk -F ', ' '
    BEGIN { n = split(ENVIRON["leaving"], line, "\n"); for (i = 1; i <= n; i++) { split(line[i], word, " "); leaves[word[1]] = 1 } }
    $3 != "" && $3 in leaves { print $1, $3 }'
}
remove_etcd() {
  remove_members | while read -r id name; do
    say "etcd: removing member $name"
    etcd_member_remove "$id"
  done
}

# --- Quarantine ------------------------------------------------------------------------------------------

# remove_taint_rules: gpuadm's DeviceTaintRules for GPUs of leaving nodes; NVIDIA's DRA driver names a pool of devices after its node.
# Empty if the API server does not serve such rules. Fails if they cannot be listed.
remove_taint_rules() {
  remove_said=$(remove_kubectl --request-timeout=10s get devicetaintrules.resource.k8s.io -l app.kubernetes.io/managed-by=gpuadm \
    -o 'jsonpath={range .items[*]}{.metadata.name} {.spec.deviceSelector.pool}{"\n"}{end}' 2>&1) || case $remove_said in
    *"the server doesn't have a resource type"*) return 0 ;;
    *) die "cannot list the DeviceTaintRules: $remove_said" ;;
  esac
  printf '%s\n' "$remove_said" | leaving=$leaving awk '
    BEGIN { n = split(ENVIRON["leaving"], line, "\n"); for (i = 1; i <= n; i++) { split(line[i], word, " "); leaves[word[1]] = 1 } }
    NF == 2 && $2 in leaves { print $1 }'
}
