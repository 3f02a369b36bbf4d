# shellcheck shell=sh disable=SC2154,SC2034
# Functions for security.profile: hardened, loaded after prelude.sh and static-pods.sh.

encryption_file=/etc/kubernetes/gpuadm/apiserver/encryption.yaml

# --- The key that encrypts Secrets in etcd ------------------------------------------------------------------
#
# gpuadm writes the configuration with one key per line: the first key encrypts, all keys decrypt. The journal records that the file
# belongs to gpuadm, but not its content: a replaced key is stored nowhere, and undo cannot restore a key that no longer decrypts
# etcd.

# encryption_write_file TEXT
encryption_write_file() {
  path_open "$encryption_file"
  journal_has file "$encryption_file" || journal_for_others file "$encryption_file"
  printf '%s\n' "$1" | path_write 0600
}

# encryption_key: 32 random bytes, with the time as its name.
encryption_key() {
  gpuadm_secret=$(head -c 32 /dev/urandom | base64 -w0)
  printf '            - { name: "%s", secret: "%s" }\n' "key-$(date -u +%Y%m%dT%H%M%SZ)" "$gpuadm_secret"
}
# encryption_put KEYS: lines as encryption_keys prints them.
encryption_put() {
  case $1 in *'secret: "'[!\"]*) ;; *) die "no encryption key was found, so $encryption_file was not changed: run again" ;; esac
  encryption_write_file "# Written by gpuadm: the keys of Secrets in etcd. Without them no backup of etcd can be read.
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - secretbox:
          keys:
$1
      - identity: {}"
}
encryption_keys() { sed -n '/^ *- { name: ".*", secret: ".*" }$/p' "$encryption_file"; }
encryption_make() { encryption_put "$(encryption_key)"; }
# encryption_is TEXT, encryption_take TEXT: TEXT is the configuration of the first control plane.
encryption_is() { [ -f "$encryption_file" ] && [ "$(cat "$encryption_file")" = "$1" ]; }
encryption_take() {
  [ -n "$1" ] || die "the first control plane returned no encryption keys: run again"
  encryption_write_file "$1"
}

# The name of the new key during a rotation.
encryption_rotates=/etc/kubernetes/tmp/gpuadm-encryption-key
encryption_add() {
  [ -f "$encryption_file" ] || die "this cluster does not encrypt its Secrets ($encryption_file does not exist): gpuadm init --profile hardened creates a cluster that does"
  gpuadm_keys=$(encryption_keys)
  [ -n "$gpuadm_keys" ] || die "$encryption_file was not written by gpuadm: rotate the key with the tool that wrote it"
  gpuadm_key=$(encryption_key)
  encryption_put "$gpuadm_keys
$gpuadm_key"
  cluster_keep_folder "${encryption_rotates%/*}"
  path_open "$encryption_rotates"
  printf '%s\n' "$gpuadm_key" | sed 's/.*name: "\([^"]*\)".*/\1/' | path_write 0600
}
# encryption_read: sets gpuadm_keys, gpuadm_new_key to the name of the new key, and gpuadm_new_row to its line.
encryption_read() {
  gpuadm_keys=$(encryption_keys)
  gpuadm_new_key=$(cat "$encryption_rotates")
  gpuadm_new_row=$(printf '%s\n' "$gpuadm_keys" | grep -F "name: \"$gpuadm_new_key\"") ||
    die "$encryption_rotates names no key of $encryption_file: run rm $encryption_rotates, then run again"
}
encryption_new_is_first() {
  [ -s "$encryption_rotates" ] || return 1
  encryption_read
  [ "${gpuadm_keys%%"$gpuadm_newline"*}" = "$gpuadm_new_row" ]
}
encryption_new_to_front() {
  encryption_read
  encryption_put "$gpuadm_new_row
$(printf '%s\n' "$gpuadm_keys" | grep -vxF -- "$gpuadm_new_row")"
}
# encryption_old: how many Secrets in etcd are not encrypted with the new key. A value begins with the key's name
# (kubernetes staging/src/k8s.io/apiserver/pkg/storage/value).
encryption_old() {
  gpuadm_all=$(request etcd_client get /registry/secrets/ --prefix --keys-only) || return 1
  encryption_read
  gpuadm_written=$(etcd_client get /registry/secrets/ --prefix --print-value-only | grep -ac "^k8s:enc:secretbox:v1:$gpuadm_new_key:") || :
  echo $(($(printf '%s\n' "$gpuadm_all" | grep -c .) - gpuadm_written))
}
encryption_is_written() { [ -s "$encryption_rotates" ] && [ "$(encryption_old)" = 0 ]; }
# Secrets that change in the meantime are written with the new key anyway.
encryption_write() {
  for gpuadm_try in 1 2 3; do
    admin_kubectl get namespaces -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}' | while IFS= read -r gpuadm_space; do
      admin_kubectl -n "$gpuadm_space" get secrets -o json | admin_kubectl replace -f - >/dev/null 2>&1 || : "some have changed meanwhile"
    done
    ! encryption_is_written || return 0
  done
  die "$(encryption_old) Secrets are not encrypted with the new key yet: run again"
}

# --- Serving certificates of kubelets -----------------------------------------------------------------------

# Undecided requests of nodes for a serving certificate: "NAME NODE REQUEST". The user who made the request must be a node: its name has the
# prefix, and it is in the group of nodes. %q: a name with a newline or a blank makes no other row or column.
serving_requests() {
  admin_kubectl get certificatesigningrequests \
    -o 'go-template={{range .items}}{{if eq .spec.signerName "kubernetes.io/kubelet-serving"}}{{.metadata.name}} {{printf "%q" .spec.username}} {{.spec.request}} {{range .spec.groups}}{{printf "%q" .}},{{end}}{{with .status}}{{range .conditions}} {{.type}}{{end}}{{end}}{{"\n"}}{{end}}{{end}}' |
    awk 'NF == 4 && $2 ~ /^"system:node:[a-z0-9][a-z0-9.-]*"$/ && index("," $4, ",\"system:nodes\",") { print $1, substr($2, 14, length($2) - 14), $3 }'
}
# serving_names REQUEST: "DNS:one, IP Address:192.0.2.1" as openssl prints it; empty if the request has several name lists, or one with other
# kinds of names or other characters: openssl prints newlines and commas of a name as they are.
serving_names() {
  gpuadm_asked=$(printf %s "$1" | base64 -d) && serving_names_are_plain "$gpuadm_asked" || return 0
  printf '%s\n' "$gpuadm_asked" | openssl req -noout -text 2>/dev/null |
    awk 'named { names = $0; named = 0 } /Subject Alternative Name/ { named = 1; count++ } END { if (count == 1) print names }'
}
# serving_names_are_plain PEM: the encoded list has only DNS names of plain characters (tag 82), and addresses (tag 87).
serving_names_are_plain() {
  printf '%s\n' "$1" | openssl asn1parse 2>/dev/null | awk '
    function byte(at) { return 16 * (index(digits, substr(hex, at, 1)) - 1) + index(digits, substr(hex, at + 1, 1)) - 1 }
    # size_at: sets size to the length that is encoded there, and next_at to what follows it.
    function size_at(at) {
      size = byte(at)
      next_at = at + 2
      if (size == 129) { size = byte(at + 2); next_at = at + 4 }
      else if (size == 130) { size = 256 * byte(at + 2) + byte(at + 4); next_at = at + 6 }
      else if (size > 127) size = -1
      return size >= 0
    }
    BEGIN { digits = "0123456789abcdef" }
    wanted && /OCTET STRING/ {
      sub(/.*\[HEX DUMP\]:/, "")
      hex = tolower($0)
      wanted = 0
    }
    /:X509v3 Subject Alternative Name/ {
      wanted = 1
      count++
    }
    END {
      if (count != 1 || hex !~ /^30[0-9a-f]+$/ || !size_at(3)) exit 1
      at = next_at
      end = at + 2 * size
      if (end != length(hex) + 1) exit 1
      while (at < end) {
        tag = substr(hex, at, 2)
        if (!size_at(at + 2) || size < 1 || next_at + 2 * size > end || (tag != "82" && tag != "87")) exit 1
        for (i = next_at; i < next_at + 2 * size; i += 2)
          if (tag == "82" && substr(hex, i, 2) !~ /^(2d|2e|3[0-9]|6[1-9a-f]|7[0-9a])$/) exit 1
        at = next_at + 2 * size
      }
    }'
}
# serving_subject REQUEST: "CN=system:node:one,O=system:nodes".
serving_subject() { printf %s "$1" | base64 -d | openssl req -noout -subject -nameopt RFC2253 2>/dev/null | sed 's/^subject= *//'; }
# serving_is_right NODE REQUEST: the request is for this node, and contains only its name and the addresses that its host reported over SSH.
serving_is_right() {
  gpuadm_row=$(printf '%s\n' "$node_addresses" | awk -v node="$1" '$1 "" == node ""')
  [ -n "$gpuadm_row" ] || return 1
  [ "$(serving_subject "$2")" = "CN=system:node:$1,O=system:nodes" ] || return 1
  gpuadm_asked=$(serving_names "$2")
  [ -n "$gpuadm_asked" ] || return 1
  printf '%s\n' "$gpuadm_asked" | tr ',' '\n' | while read -r gpuadm_kind gpuadm_name; do
    case "$gpuadm_kind $gpuadm_name" in
      "DNS:$1 ") ;;
      "IP Address:"*) case " ${gpuadm_row#* } " in *" ${gpuadm_name#Address:} "*) ;; *) exit 1 ;; esac ;;
      *) exit 1 ;;
    esac
  done
}
# serving_answers NODE: the API server reaches the kubelet and verifies its certificate.
serving_answers() { admin_kubectl get --raw "/api/v1/nodes/$1/proxy/healthz" >/dev/null 2>&1; }
# The nodes of this run that are in the cluster.
serving_nodes() {
  gpuadm_known=$(admin_kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}') || return 1
  printf '%s\n' "$node_addresses" | while read -r gpuadm_node _; do
    ! printf '%s\n' "$gpuadm_known" | grep -qxF "$gpuadm_node" || printf '%s\n' "$gpuadm_node"
  done
}
serving_is_done() {
  [ -f /etc/kubernetes/admin.conf ] || return 1
  gpuadm_nodes=$(serving_nodes) || return 1
  for gpuadm_one in $gpuadm_nodes; do
    serving_answers "$gpuadm_one" || return 1
    # A pending renewal: the kubelet requests a new certificate long before the old one expires.
    ! serving_requests | grep -qF " $gpuadm_one " || return 1
  done
}
serving_try() {
  serving_requests | while read -r gpuadm_request gpuadm_node gpuadm_text; do
    if serving_is_right "$gpuadm_node" "$gpuadm_text"; then
      admin_kubectl certificate approve "$gpuadm_request" >/dev/null
    fi
  done
  serving_is_done
}
serving_approve() {
  have openssl || die "openssl is required to inspect the kubelets' certificate requests and is not installed: install the package openssl"
  in_time 120 serving_try && return 0
  for gpuadm_one in $(serving_nodes); do
    serving_answers "$gpuadm_one" && continue
    serving_requests | while read -r _ gpuadm_node gpuadm_text; do
      [ "$gpuadm_node" != "$gpuadm_one" ] ||
        say "$gpuadm_one requests a certificate for $(serving_names "$gpuadm_text"), but its host has $(printf '%s\n' "$node_addresses" | awk -v node="$gpuadm_one" '$1 "" == node ""')"
    done
    die "the API server cannot reach the kubelet of $gpuadm_one with a certificate of the cluster: run kubectl get csr, and journalctl -u kubelet on $gpuadm_one"
  done
  die "a kubelet requests a certificate for names or addresses that its host does not have: run kubectl get csr"
}

# --- Files --------------------------------------------------------------------------------------------------

# Files of kubeadm, the kubelet and the pod network that other users may read. Packages install the kubelet's unit with mode 0644.
hardened_files_open() {
  for gpuadm_file in /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env \
    /etc/kubernetes/admin.conf /etc/kubernetes/kubelet.conf /etc/kubernetes/controller-manager.conf /etc/kubernetes/scheduler.conf \
    /etc/kubernetes/manifests/kube-apiserver.yaml /etc/kubernetes/manifests/kube-controller-manager.yaml \
    /etc/kubernetes/manifests/kube-scheduler.yaml /etc/kubernetes/manifests/etcd.yaml \
    /etc/cni/net.d/10-flannel.conflist "$bridge_config" \
    /etc/systemd/system/kubelet.service /etc/systemd/system/kubelet.service.d/*.conf \
    /usr/lib/systemd/system/kubelet.service /usr/lib/systemd/system/kubelet.service.d/*.conf; do
    [ ! -f "$gpuadm_file" ] || [ -L "$gpuadm_file" ] || [ "$(stat -c %a "$gpuadm_file")" = 600 ] || printf '%s\n' "$gpuadm_file"
  done
}
# hardened_file_close FILE: the mode of a file that stays when the cluster is reset is recorded in the journal.
hardened_file_close() {
  path_open "$1"
  case $1 in
    */systemd/system/*) if journal_has file "$1"; then journal_file "$1"; else journal_thing mode "$1"; fi ;;
  esac
  chmod 0600 "$1"
}
