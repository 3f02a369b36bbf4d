# shellcheck shell=sh disable=SC2154
# Functions for the steps of playbooks/repair-address.yaml, loaded after prelude.sh, static-pods.sh, certs.sh and etcd.sh.
# $advertise_address is the current address of the host. The previous address is in the API server's manifest and, during the
# repair, in $address_note.

address_note=$cluster_kept/gpuadm-address
address_before=$cluster_kept/gpuadm-address-before # the replaced certificates
address_was() { cat "$address_note" 2>/dev/null || static_pod_flag kube-apiserver advertise-address; }
address_is_same() { [ "$(address_was)" = "$advertise_address" ]; }
address_is_ours() { ip -o addr show 2>/dev/null | awk -v address="$1" '{ sub(/\/.*/, "", $4); if ($4 == address) found = 1 } END { exit !found }'; }

# address_in: stdin with the old address replaced by the new one, except where it is part of a longer address. Exit status 1 if
# stdin does not contain it.
address_in() {
  old=$(address_was) new=$advertise_address awk '
    BEGIN { old = ENVIRON["old"]; new = ENVIRON["new"]; long = old ~ /:/ ? "[0-9a-fA-F:]" : "[0-9.]" }
    {
      line = ""
      while (at = index($0, old)) {
        before = at > 1 ? substr($0, at - 1, 1) : ""; after = substr($0, at + length(old), 1)
        whole = before !~ long && (after == "" || after !~ long)
        line = line substr($0, 1, at - 1) (whole ? new : old)
        if (whole) found = 1
        $0 = substr($0, at + length(old))
      }
      print line $0
    }
    END { exit !found }'
}
address_is_gone() { [ ! -f "$1" ] || address_is_same || ! address_in <"$1" >/dev/null; }

# address_rewrite FILE: the temporary file is in another folder, because the kubelet would treat it as a manifest.
address_rewrite() {
  cluster_keep_folder "$cluster_kept"
  gpuadm_new=$cluster_kept/gpuadm-new.$$
  (umask 077 && address_in <"$1" >"$gpuadm_new") || return 0
  chown --reference="$1" "$gpuadm_new"
  chmod --reference="$1" "$gpuadm_new"
  sync "$gpuadm_new" 2>/dev/null || :
  mv -f "$gpuadm_new" "$1"
}

# address_nodes: the number of nodes, also if the cluster's address no longer belongs to this host. If no API server responds, it is
# read from etcd's file, which may still contain deleted nodes.
address_nodes() {
  gpuadm_nodes=$(object_names kubectl --kubeconfig /etc/kubernetes/admin.conf --server "https://127.0.0.1:$(address_port)" --tls-server-name kubernetes \
    --request-timeout=10s get nodes 2>/dev/null) ||
    gpuadm_nodes=$(grep -aoE '/registry/minions/[a-z0-9.-]+' "$etcd_data/member/snap/db" 2>/dev/null | sort -u)
  printf '%s\n' "$gpuadm_nodes" | grep -c . || :
}
address_port() { gpuadm_port=$(static_pod_flag kube-apiserver secure-port) && printf '%s\n' "${gpuadm_port:-6443}"; }
# The node name is the one in the kubelet's certificate.
address_node() {
  gpuadm_node=$(openssl x509 -noout -subject -in /var/lib/kubelet/pki/kubelet-client-current.pem 2>/dev/null | sed -nE 's/.*system:node:([^,/ ]+).*/\1/p')
  printf '%s\n' "${gpuadm_node:-$(static_pod_flag etcd name)}"
}

address_look() {
  have openssl || die "openssl is required to read certificates and is not installed: install openssl, then run again"
  address_is_ours "$advertise_address" || die "no interface of this host has the address $advertise_address: correct controlPlane.advertiseAddress in the cluster file"
  [ -n "$(address_was)" ] || die "the API server's manifest has no --advertise-address: check $static_pod_folder/kube-apiserver.yaml"
  cluster_keep_folder "$cluster_kept"
  address_was >"$address_note.new"
  mv "$address_note.new" "$address_note"
}

# --- Certificates ----------------------------------------------------------------------------------------

address_certs="apiserver etcd/server etcd/peer"
# address_names FILE: "DNS:node", "IP Address:10.0.0.1", one per line.
address_names() { openssl x509 -noout -text -in "$1" 2>/dev/null | awk '/Subject Alternative Name/ { getline; print }' | tr ',' '\n' | sed 's/^ *//'; }
address_cert_is_right() {
  [ -f "$certs_folder/$1.crt" ] || return 1
  address_names "$certs_folder/$1.crt" | grep -qxF "IP Address:$advertise_address" || return 1
  address_is_same || ! address_names "$certs_folder/$1.crt" | grep -qxF "IP Address:$(address_was)" || return 1
  certs_last "$certs_folder/$1.crt" 0
}
address_certs_are_right() {
  for gpuadm_cert in $address_certs; do
    [ ! -f "$certs_folder/$gpuadm_cert.crt" ] && [ ! -f "$address_before/$gpuadm_cert.crt" ] || address_cert_is_right "$gpuadm_cert" || return 1
  done
}
# address_further CERT: the subject alternative names as a YAML list without the old address, so that additional names are kept.
address_further() {
  gpuadm_of=$address_before/$1.crt
  [ -f "$gpuadm_of" ] || gpuadm_of=$certs_folder/$1.crt
  address_names "$gpuadm_of" | sed 's/^[A-Za-z ]*://' | grep -vxF "$(address_was)" | sed 's/.*/"&"/' | paste -sd, - | sed 's/.*/[&]/'
}
# The kubeadm configuration for these certificates.
address_config() {
  gpuadm_minor=$(kubeadm_minor)
  if [ "$gpuadm_minor" -ge 31 ]; then gpuadm_api=v1beta4; elif [ "$gpuadm_minor" -ge 22 ]; then gpuadm_api=v1beta3; elif [ "$gpuadm_minor" -ge 15 ]; then gpuadm_api=v1beta2; else gpuadm_api=v1beta1; fi
  gpuadm_socket=$(sed -nE 's/.*--container-runtime-endpoint=([^ "]+).*/\1/p; s/^containerRuntimeEndpoint: *"?([^ "]+).*/\1/p' \
    /var/lib/kubelet/kubeadm-flags.env /var/lib/kubelet/config.yaml 2>/dev/null | head -n 1)
  cat <<EOF
apiVersion: kubeadm.k8s.io/$gpuadm_api
kind: InitConfiguration
localAPIEndpoint: { advertiseAddress: "$advertise_address", bindPort: $(address_port) }
nodeRegistration: { name: "$(address_node)", criSocket: "${gpuadm_socket:-/var/run/dockershim.sock}" }
---
apiVersion: kubeadm.k8s.io/$gpuadm_api
kind: ClusterConfiguration
kubernetesVersion: $(kubeadm version -o short)
networking: { serviceSubnet: "$(static_pod_flag kube-apiserver service-cluster-ip-range)" }
apiServer: { certSANs: $(address_further apiserver) }
etcd: { local: { dataDir: "$etcd_data", serverCertSANs: $(address_further etcd/server), peerCertSANs: $(address_further etcd/peer) } }
EOF
}
address_certs_make() {
  cluster_keep_folder "$address_before/etcd"
  address_config >"$address_before/kubeadm.yaml"
  for gpuadm_cert in $address_certs; do
    [ -f "$certs_folder/$gpuadm_cert.crt" ] || [ -f "$address_before/$gpuadm_cert.crt" ] || continue
    ! address_cert_is_right "$gpuadm_cert" || continue
    if [ ! -f "$address_before/$gpuadm_cert.crt" ]; then
      cp -a "$certs_folder/$gpuadm_cert.key" "$address_before/$gpuadm_cert.key"
      cp -a "$certs_folder/$gpuadm_cert.crt" "$address_before/$gpuadm_cert.crt"
    fi
    rm -f "$certs_folder/$gpuadm_cert.crt" "$certs_folder/$gpuadm_cert.key"
    gpuadm_said=$(kubeadm init phase certs "$(printf %s "$gpuadm_cert" | tr / -)" --config "$address_before/kubeadm.yaml" 2>&1) || {
      cp -a "$address_before/$gpuadm_cert.crt" "$address_before/$gpuadm_cert.key" "$(dirname "$certs_folder/$gpuadm_cert.crt")/"
      printf '%s\n' "$gpuadm_said" | tail -n 6
      die "kubeadm failed to create $gpuadm_cert.crt; the previous certificate was restored"
    }
  done
}

# --- Files and the kubelet -------------------------------------------------------------------------------

address_files="admin.conf super-admin.conf controller-manager.conf scheduler.conf kubelet.conf"
address_kubeconfigs_are_right() {
  for gpuadm_file in $address_files; do address_is_gone "/etc/kubernetes/$gpuadm_file" || return 1; done
}
address_manifests_are_right() {
  for gpuadm_file in "$static_pod_folder"/*.yaml /etc/kubernetes/gpuadm/kubeadm.yaml; do address_is_gone "$gpuadm_file" || return 1; done
}
address_manifests() {
  if [ -f /etc/kubernetes/gpuadm/kubeadm.yaml ]; then
    journal_file /etc/kubernetes/gpuadm/kubeadm.yaml
    address_rewrite /etc/kubernetes/gpuadm/kubeadm.yaml
  fi
  # The API server's manifest is changed last, because address_was reads the old address from it.
  for gpuadm_pod in etcd kube-controller-manager kube-scheduler kube-apiserver; do
    [ ! -f "$static_pod_folder/$gpuadm_pod.yaml" ] || address_rewrite "$static_pod_folder/$gpuadm_pod.yaml"
  done
}

# A node cannot be renamed, because its pods, its certificate and its volumes refer to its name. It keeps the name regardless of the
# hostname.
address_flags=/var/lib/kubelet/kubeadm-flags.env
address_name_is_kept() {
  [ "$(hostname | tr '[:upper:]' '[:lower:]')" = "$(address_node)" ] ||
    grep -qs -- --hostname-override= "$address_flags" /etc/default/kubelet /etc/sysconfig/kubelet
}
address_name_keep() {
  [ -f "$address_flags" ] || die "$address_flags does not exist: start the kubelet with --hostname-override=$(address_node)"
  (umask 077 && node=$(address_node) awk '
    /^KUBELET_KUBEADM_ARGS=/ { sub(/"?$/, " --hostname-override=" ENVIRON["node"] "\"") } { print }' "$address_flags" >"$address_flags.gpuadm")
  chmod --reference="$address_flags" "$address_flags.gpuadm"
  mv -f "$address_flags.gpuadm" "$address_flags"
}
address_kubelet_is_fresh() {
  gpuadm_pid=$(systemctl show --property=MainPID --value kubelet.service)
  [ "${gpuadm_pid:-0}" -gt 0 ] && process_reads "$gpuadm_pid" /etc/kubernetes/kubelet.conf "$address_flags"
}

# --- In the cluster --------------------------------------------------------------------------------------

address_member() { etcd_client member list -w simple 2>/dev/null | awk -F ', ' -v name="$(static_pod_flag etcd name)" '$3 == name { print $1, $4 }'; }
address_member_is_right() {
  ! etcd_missing || return 0
  gpuadm_member=$(address_member)
  [ -n "$gpuadm_member" ] && [ "${gpuadm_member#* }" = "$(static_pod_flag etcd initial-advertise-peer-urls)" ]
}
etcd_missing() { [ -z "$etcd_image" ]; }
address_maps="kube-system/kubeadm-config kube-system/kube-proxy kube-public/cluster-info"
address_map() { admin_kubectl -n "${1%/*}" get configmap "${1#*/}" --ignore-not-found -o json; }
address_maps_are_right() {
  for gpuadm_map in $address_maps; do
    gpuadm_json=$(address_map "$gpuadm_map") || return 1
    ! printf '%s\n' "$gpuadm_json" | address_in >/dev/null || return 1
  done
}
address_maps_write() {
  unit_stale host-network-pods
  for gpuadm_map in $address_maps; do
    gpuadm_json=$(address_map "$gpuadm_map")
    gpuadm_json=$(printf '%s\n' "$gpuadm_json" | address_in) || continue
    (export request_again=0 && printf '%s\n' "$gpuadm_json" | admin_kubectl replace -f -) || return
  done
}
# kube-proxy and network plugins read the address at startup; their DaemonSets recreate them.
address_pods_restart() {
  gpuadm_said=$(admin_kubectl get pods -A -o "$pod_rows")
  printf '%s\n' "$gpuadm_said" | awk -F '\t' '$2 == "\"DaemonSet\"" && $5 == "host" { sub("/", " ", $1); print $1 }' |
    while read -r gpuadm_space gpuadm_pod; do
      kube --kubeconfig /etc/kubernetes/admin.conf -n "$gpuadm_space" delete pod "$gpuadm_pod" --ignore-not-found --timeout="${gpuadm_end_of_pods}s" </dev/null
    done
  unit_is_fresh host-network-pods
}
address_node_is_ready() {
  gpuadm_said=$(admin_kubectl get node "$(address_node)" -o 'jsonpath={range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}{range .status.addresses[*]}{.type} {.address}{"\n"}{end}')
  printf '%s\n' "$gpuadm_said" | grep -E '^(Ready=|InternalIP)'
  printf '%s\n' "$gpuadm_said" | grep -q '^Ready=True' && printf '%s\n' "$gpuadm_said" | grep -qxF "InternalIP $advertise_address"
}
# The control plane and kube-proxy. The pods of the DaemonSet return once the controller manager is the leader again.
address_pods_run() {
  gpuadm_said=$(admin_kubectl -n kube-system get pods -o 'jsonpath={range .items[*]}{.metadata.name} {.status.phase} {.metadata.deletionTimestamp}{"\n"}{end}')
  printf '%s\n' "$gpuadm_said"
  gpuadm_proxy=$(admin_kubectl -n kube-system get daemonset kube-proxy --ignore-not-found -o 'jsonpath={.metadata.name}') # some clusters have no kube-proxy
  for gpuadm_pod in $static_pods $gpuadm_proxy; do
    [ "$gpuadm_pod" = kube-proxy ] || static_pod_is_there "$gpuadm_pod" || continue
    printf '%s\n' "$gpuadm_said" | grep -q "^$gpuadm_pod-.* Running *$" || return 1
  done
}
