# shellcheck shell=sh disable=SC2154
# Functions for the steps of playbooks/certs.yaml, loaded after prelude.sh and static-pods.sh.

certs_folder=/etc/kubernetes/pki
# The backup of an unfinished renewal, and the run that completed the last renewal.
certs_before=$cluster_kept/gpuadm-certs
certs_done=$cluster_kept/gpuadm-certs-renewed

# certs_kubeadm ARGUMENT...
certs_kubeadm() {
  gpuadm_minor=$(kubeadm_minor) || exit 3
  if [ "$gpuadm_minor" -ge 20 ]; then kubeadm certs "$@"; else kubeadm alpha certs "$@"; fi
}

# certs_leaves: the files whose certificates kubeadm renews.
certs_leaves() {
  for gpuadm_file in "$certs_folder"/*.crt "$certs_folder"/etcd/*.crt /etc/kubernetes/admin.conf /etc/kubernetes/super-admin.conf \
    /etc/kubernetes/controller-manager.conf /etc/kubernetes/scheduler.conf; do
    [ -f "$gpuadm_file" ] || continue
    # CA certificates are skipped, and so are files of others: kubeadm's certificates have a key next to them.
    case $gpuadm_file in
      */ca.crt | */front-proxy-ca.crt) continue ;;
      *.crt) [ -f "${gpuadm_file%.crt}.key" ] || continue ;;
    esac
    printf '%s\n' "$gpuadm_file"
  done
}
certs_text() {
  case $1 in
    *.conf) sed -n 's/^ *client-certificate-data: *//p' "$1" | base64 -d ;;
    *) cat "$1" ;;
  esac
}
# certs_last FILE DAYS: the certificate is readable, does not expire within that time, and matches its key.
certs_last() {
  certs_text "$1" | openssl x509 -noout -checkend $(($2 * 86400)) >/dev/null 2>&1 || return 1
  case $1 in *.conf) return 0 ;; esac
  [ "$(openssl x509 -noout -pubkey -in "$1" 2>/dev/null)" = "$(openssl pkey -pubout -in "${1%.crt}.key" 2>/dev/null)" ]
}

# certs_ending DAYS: the certificates that expire within DAYS. Without openssl, kubeadm reports the remaining time in days and
# years.
certs_ending() {
  if have openssl; then
    certs_leaves | while IFS= read -r gpuadm_file; do certs_last "$gpuadm_file" "$1" || printf '%s\n' "$gpuadm_file"; done
  else
    gpuadm_said=$(certs_kubeadm check-expiration) || die "kubeadm cannot read the certificates: run kubeadm certs check-expiration, or install openssl"
    printf '%s\n' "$gpuadm_said" | awk -v days="$1" '
      /^CERTIFICATE AUTHORITY/ { exit }
      { for (i = 2; i <= NF; i++) if ($i ~ /^(<invalid>|[0-9]+[smhdy])$/) { left = $i; break } else left = "" }
      left == "" { next }
      { rows++ }
      left ~ /y$/ { left = left * 365 } left ~ /[smh]$/ || left ~ /invalid/ { left = 0 }
      left + 0 <= days + 0 { print $1 }
      END { exit !rows }' || die "kubeadm lists no certificate: run kubeadm certs check-expiration, or install openssl"
  fi
}

certs_are_renewed() {
  [ ! -d "$certs_before" ] || return 1
  if [ "$renew_all" = yes ]; then
    [ "$(cat "$certs_done" 2>/dev/null)" = "$gpuadm_run" ]
  else
    gpuadm_ending=$(certs_ending "$within_days") || exit 3
    [ -z "$gpuadm_ending" ]
  fi
}

# certs_copy FROM TO: certificates, keys and kubeconfigs.
certs_copy() {
  cluster_keep_folder "$2"
  cp -a "$1/pki" "$2/"
  for gpuadm_file in admin super-admin controller-manager scheduler kubelet; do
    [ ! -f "$1/$gpuadm_file.conf" ] || cp -a "$1/$gpuadm_file.conf" "$2/"
  done
}
certs_put_back() {
  certs_copy "$certs_before" /etc/kubernetes
  rm -rf "$certs_before"
}

# All or nothing: if kubeadm fails or was interrupted, the previous files are restored.
certs_renew() {
  for gpuadm_ca in ca front-proxy-ca etcd/ca; do
    [ ! -f "$certs_folder/$gpuadm_ca.crt" ] || [ -f "$certs_folder/$gpuadm_ca.key" ] ||
      die "$certs_folder/$gpuadm_ca.key does not exist: renew the certificates where the CA key is kept"
    [ ! -f "$certs_folder/$gpuadm_ca.crt" ] || ! have openssl || openssl x509 -noout -checkend 0 -in "$certs_folder/$gpuadm_ca.crt" >/dev/null 2>&1 ||
      die "the CA certificate $certs_folder/$gpuadm_ca.crt has expired: see kubernetes.io, \"Manual Rotation of CA Certificates\""
  done
  [ ! -d "$certs_before" ] || certs_put_back
  rm -rf "$certs_before.new"
  certs_copy /etc/kubernetes "$certs_before.new"
  sync -f "$certs_before.new" 2>/dev/null || :
  mv "$certs_before.new" "$certs_before"
  if ! gpuadm_said=$(certs_kubeadm renew all 2>&1); then
    certs_put_back
    printf '%s\n' "$gpuadm_said" | tail -n 12
    die "kubeadm failed to renew the certificates; the previous certificates were restored"
  fi
  sync -f "$certs_folder" 2>/dev/null || :
  rm -rf "$certs_before"
  printf '%s\n' "$gpuadm_run" >"$certs_done"
}

# certs_in_use NAME: the static pod was started after its certificates were created.
certs_in_use() {
  static_pod_is_there "$1" || return 0
  case $1 in
    etcd) set -- "$1" "$certs_folder"/etcd/server.crt "$certs_folder"/etcd/peer.crt ;;
    kube-apiserver) set -- "$1" "$certs_folder"/apiserver*.crt "$certs_folder"/front-proxy-client.crt ;;
    *) set -- "$1" "/etc/kubernetes/${1#kube-}.conf" ;;
  esac
  static_pod_reads "$@"
}

# certs_served: the API server's certificate is the one in the file.
certs_served() {
  have openssl || return 0
  gpuadm_host=$(static_pod_flag kube-apiserver bind-address)
  case $gpuadm_host in '' | 0.0.0.0 | ::) gpuadm_host=127.0.0.1 ;; *:*) gpuadm_host="[$gpuadm_host]" ;; esac
  gpuadm_port=$(static_pod_flag kube-apiserver secure-port)
  gpuadm_served=$(limit_of 10 openssl s_client -connect "$gpuadm_host:${gpuadm_port:-6443}" </dev/null 2>/dev/null |
    openssl x509 -noout -fingerprint -sha256 2>/dev/null)
  say "the API server serves ${gpuadm_served:-no certificate}"
  [ "$gpuadm_served" = "$(openssl x509 -noout -fingerprint -sha256 -in "$certs_folder/apiserver.crt")" ]
}
