# shellcheck shell=sh disable=SC2154
# Functions with which nodes join a cluster. They stand behind prelude.sh, before.sh, reset.sh and
# etcd.sh. What is secret lies in /run/gpuadm (0700) for as
# long as it is of use, and reaches other hosts as a variable of a step, on their shells' stdin.

join_run=/run/gpuadm
join_marker=$gpuadm_home/joining

join_folder() {
  mkdir -p "$join_run"
  chmod 0700 "$join_run"
}

# fresh FILE SECONDS: whether it is there, not empty, and younger than that.
join_is_fresh() { [ -s "$1" ] && [ $(($(date +%s) - $(stat -c %Y "$1"))) -lt "$2" ]; }

# --- On a control plane -----------------------------------------------------------------------------------

# A token lives for 30 minutes, and is used again by a run that goes on within 15.
join_offer_check() {
  join_is_fresh "$join_run/join" 900 || exit 1
  join_secret_is_there "bootstrap-token-$(join_token_id)" || exit 1
  cat "$join_run/join"
}
join_token_id() { sed -nE 's/.*--token ([a-z0-9]{6})\..*/\1/p' "$join_run/join"; }
join_secret_is_there() {
  kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s -n kube-system get secret "$1" -o name >/dev/null 2>&1
}
join_offer() {
  join_folder
  umask 077
  kubeadm --kubeconfig /etc/kubernetes/admin.conf token create --ttl 30m --description "gpuadm $gpuadm_run" \
    --print-join-command >"$join_run/join.new"
  mv -f "$join_run/join.new" "$join_run/join"
}
# The key of the Secret kubeadm-certs, which lives for two hours.
join_certificates_check() {
  join_is_fresh "$join_run/certificate-key" 3600 || exit 1
  join_secret_is_there kubeadm-certs || exit 1
  cat "$join_run/certificate-key"
}
join_certificates() {
  join_folder
  umask 077
  # The cluster's own configuration: a control plane that has joined has no other.
  kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s -n kube-system get configmap kubeadm-config \
    -o 'jsonpath={.data.ClusterConfiguration}' >"$join_run/configuration.yaml"
  kubeadm init phase upload-certs --upload-certs --config "$join_run/configuration.yaml" >"$join_run/certificate-key.new"
  grep -Ex '[0-9a-f]{64}' "$join_run/certificate-key.new" >"$join_run/certificate-key"
  rm -f "$join_run/certificate-key.new" "$join_run/configuration.yaml"
}
join_is_over() { [ ! -e "$join_run/join" ] && [ ! -e "$join_run/certificate-key" ]; }
join_ends() {
  id=$(join_token_id 2>/dev/null) || id=
  [ -z "$id" ] || kubeadm --kubeconfig /etc/kubernetes/admin.conf token delete "$id" || : "it has expired"
  rm -f "$join_run/join" "$join_run/certificate-key"
}

# --- On the host that joins -------------------------------------------------------------------------------

join_is_done() { [ -f /etc/kubernetes/kubelet.conf ] && [ ! -e "$join_marker" ]; }

# join_file WORDS...: kubeadm's configuration from `kubeadm join HOST:PORT --token … --discovery-token-ca-cert-hash …`,
# which another host has said.
join_file() {
  endpoint=${3:-} token='' hash=''
  while [ $# -gt 1 ]; do
    case $1 in
      --token) token=$2 ;;
      --discovery-token-ca-cert-hash) hash=$2 ;;
    esac
    shift
  done
  printf '%s\n' "$endpoint" | grep -Eqx '[][A-Za-z0-9.:-]+:[0-9]+' || die "the control plane did not say where it is reached"
  printf '%s\n' "$token" | grep -Eqx '[a-z0-9]{6}\.[a-z0-9]{16}' || die "the control plane did not give a token"
  printf '%s\n' "$hash" | grep -Eqx 'sha256:[0-9a-f]{64}' || die "the control plane did not give its certificate's hash"
  printf '%s' "$join_configuration"
  printf 'discovery:\n  bootstrapToken:\n    apiServerEndpoint: "%s"\n    token: "%s"\n    caCertHashes: ["%s"]\n' \
    "$endpoint" "$token" "$hash"
  [ -z "${certificate_key:-}" ] || printf 'controlPlane:\n  certificateKey: "%s"\n  localAPIEndpoint: { advertiseAddress: "%s", bindPort: 6443 }\n' \
    "$certificate_key" "$host_address"
}

join() {
  [ -n "$join_words" ] || die "the control plane gave no token: run again"
  journal_made cluster kubeadm
  if [ -e "$join_marker" ] && join_was_done; then
    rm -f "$join_marker"
    return 0
  fi
  [ ! -e "$join_marker" ] || join_forget
  : >"$join_marker"
  join_folder
  (umask 077 && : >"$gpuadm_home/kubeadm-join.log")
  trap 'rm -f "$join_run/join.yaml"' EXIT
  # shellcheck disable=SC2086 # words
  (umask 077 && join_file $join_words >"$join_run/join.yaml")
  kubeadm join --config "$join_run/join.yaml" --skip-phases=preflight >"$gpuadm_home/kubeadm-join.log" 2>&1 || {
    tail -n 25 "$gpuadm_home/kubeadm-join.log" >&2
    die "kubeadm join failed; all it said is in $gpuadm_home/kubeadm-join.log on the host"
  }
  rm -f "$join_marker"
}

# Cut off behind kubeadm's last word: the node is Ready, and marked as what it was to become.
join_was_done() {
  [ -f /etc/kubernetes/kubelet.conf ] || return 1
  join_said=$(kubectl --kubeconfig /etc/kubernetes/kubelet.conf --request-timeout=10s get node "$node_name" \
    -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status} {.metadata.labels}' 2>/dev/null) || return 1
  case $join_said in True\ *) ;; *) return 1 ;; esac
  [ -z "${certificate_key:-}" ] || printf '%s\n' "$join_said" | grep -Eq 'node-role.kubernetes.io/(master|control-plane)'
}

# join_members: "ID" of members of etcd on control planes that are to join, as a join that was cut off leaves them: by their
# address, since one that was never started has no name. Not of nodes that are marked as control planes, which kubeadm does
# last: their join has come to its end in the meantime.
join_members() {
  [ -d "$etcd_data/member" ] || return 0
  join_nodes=$(node_kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.labels}{" "}{.status.addresses[*].address}{"\n"}{end}')
  join_planes=$(printf '%s\n' "$join_nodes" | grep -E 'node-role.kubernetes.io/(master|control-plane)') || :
  join_said=$(etcd_client member list) || die "etcd does not say who its members are: $(printf %s "$join_said" | tail -n 1)"
  printf '%s\n' "$join_said" | joining=$joining_control_planes planes=$join_planes awk -F ', ' '
    BEGIN {
      n = split(ENVIRON["joining"], at, "\n"); for (i = 1; i <= n; i++) if (at[i] != "") joins[at[i]] = 1
      n = split(ENVIRON["planes"], at, "[ \n]"); for (i = 1; i <= n; i++) delete joins[at[i]]
    }
    { peer = $4; sub(/^https?:\/\//, "", peer); sub(/:[0-9]+$/, "", peer); gsub(/[][]/, "", peer); if (peer in joins) print $1 }'
}

# What a join that was cut off has left, so that kubeadm can begin again. Its etcd is no member any more.
join_forget() {
  systemctl stop kubelet.service
  if have ctr && unit_is_active containerd.service; then reset_containerd; fi
  if have docker && [ -n "$(reset_docker_pods)" ]; then reset_docker; fi
  tree_now /etc/kubernetes | while IFS= read -r path; do
    [ -d "/etc/kubernetes/$path" ] || grep -qxF -- "$path" "$(tree_file /etc/kubernetes)" || rm -f "/etc/kubernetes/$path"
  done
  rm -rf /var/lib/kubelet/pki /var/lib/etcd/member
}

# --- Labels ----------------------------------------------------------------------------------------------

# labels_missing: "NODE LABEL…" of nodes that lack some of $cluster_labels ("NODE KEY=VALUE" a line). One question for all of
# them: clusters may be large.
labels_missing() {
  [ -n "$cluster_labels" ] || return 0
  [ -f /etc/kubernetes/admin.conf ] || return 1
  labels_said=$(node_kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.metadata.labels}{"\n"}{end}') || return 1
  printf '%s' "$cluster_labels" | said=$labels_said awk '
    BEGIN {
      n = split(ENVIRON["said"], line, "\n")
      for (i = 1; i <= n; i++) { at = index(line[i], " "); if (at) has[substr(line[i], 1, at - 1)] = substr(line[i], at + 1) }
    }
    {
      at = index($2, "=")
      if (($1 in has) && !index(has[$1], "\"" substr($2, 1, at - 1) "\":\"" substr($2, at + 1) "\"")) lacks[$1] = lacks[$1] " " $2
    }
    END { for (node in lacks) print node lacks[node] }'
}
