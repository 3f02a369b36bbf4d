# shellcheck shell=sh disable=SC2154
# Functions with which nodes join a cluster. They stand behind prelude.sh and before.sh. What is secret lies in /run/gpuadm (0700) for as
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
  cat "$join_run/join"
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
  id=$(sed -nE 's/.*--token ([a-z0-9]{6})\..*/\1/p' "$join_run/join" 2>/dev/null) || id=
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

# What a join that was cut off has left, so that kubeadm can begin again.
join_forget() {
  systemctl stop kubelet.service
  tree_now /etc/kubernetes | while IFS= read -r path; do
    [ -d "/etc/kubernetes/$path" ] || grep -qxF -- "$path" "$(tree_file /etc/kubernetes)" || rm -f "/etc/kubernetes/$path"
  done
  rm -rf /var/lib/kubelet/pki /var/lib/etcd/member
}
