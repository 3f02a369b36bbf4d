# shellcheck shell=sh disable=SC2154
# Functions for the steps of playbooks/remove.yaml, on a control plane that stays. They stand behind reset.sh and etcd.sh.
# $leaving: a line a node, "NAME there|gone": whether its host can still be reached.

remove_kubectl() { kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }

# remove_nodes [there|gone]: those of them that the cluster still has. Fails where the API server does not answer.
remove_nodes() {
  remove_all=$(remove_kubectl --request-timeout=10s get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}')
  printf '%s\n' "$leaving" | all=$remove_all state=${1:-} awk '
    BEGIN { lines = split(ENVIRON["all"], line, "\n"); for (i = 1; i <= lines; i++) there[line[i]] = 1 }
    NF == 2 && $1 in there && (ENVIRON["state"] == "" || ENVIRON["state"] == $2) { print $1 }'
}

# remove_pods NODE: pods on it that a drain would move: neither of a DaemonSet nor of its kubelet, and not at their end.
remove_pods() {
  remove_said=$(remove_kubectl --request-timeout=20s get pods -A --field-selector "spec.nodeName=$1" \
    -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {.metadata.ownerReferences[0].kind} {.status.phase}{"\n"}{end}')
  printf '%s\n' "$remove_said" |
    awk 'NF && $0 !~ / (DaemonSet|Node) / && $NF != "Succeeded" && $NF != "Failed" { print $1 }'
}

remove_is_drained() {
  remove_left=$(remove_nodes there)
  for remove_node in $remove_left; do
    [ "$(remove_kubectl --request-timeout=10s get node "$remove_node" -o 'jsonpath={.spec.unschedulable}')" = true ] || return 1
    remove_there=$(remove_pods "$remove_node")
    [ -z "$remove_there" ] || return 1
  done
}
# A node that cannot be reached ends no pod: its pods are started elsewhere once it is forgotten.
remove_drain() {
  remove_words=--delete-emptydir-data
  kubectl drain --help 2>/dev/null | grep -q -e --delete-emptydir-data || remove_words=--delete-local-data # before 1.20
  [ "$drain_force" != yes ] || remove_words="$remove_words --force"
  for remove_node in $(remove_nodes there); do
    # shellcheck disable=SC2086 # words
    remove_kubectl drain "$remove_node" --ignore-daemonsets $remove_words --timeout="${drain_timeout}s" ||
      die "not every pod could be moved away from $remove_node. Pods that nobody starts again elsewhere, and those that a PodDisruptionBudget keeps, are named above: --force, or --drain-timeout; kubectl uncordon $remove_node takes it back"
  done
}

# --- etcd ------------------------------------------------------------------------------------------------

# remove_members: "ID NAME" of members on nodes that leave. Nothing where this control plane has no etcd of its own.
remove_members() {
  [ -d "$etcd_data/member" ] || return 0
  remove_said=$(etcd_client member list) || die "etcd does not say who its members are: $(printf %s "$remove_said" | tail -n 1)"
  printf '%s\n' "$remove_said" | leaving=$leaving awk -F ', ' '
    BEGIN { n = split(ENVIRON["leaving"], line, "\n"); for (i = 1; i <= n; i++) { split(line[i], word, " "); leaves[word[1]] = 1 } }
    $3 != "" && $3 in leaves { print $1, $3 }'
}
remove_etcd() {
  remove_members | while read -r id name; do
    say "etcd: $name leaves"
    etcd_client member remove "$id"
  done
}
