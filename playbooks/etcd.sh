# shellcheck shell=sh disable=SC2154
# Functions for the steps of playbooks/etcd-*.yaml, loaded after prelude.sh and static-pods.sh.

etcd_data=$(static_pod_flag etcd data-dir)
etcd_data=${etcd_data:-/var/lib/etcd}
# The folder is on the file system of the data, so that the data can be renamed; etcd reads only member/.
etcd_room=$etcd_data/gpuadm
etcd_pki=$(static_pod_flag etcd trusted-ca-file)
etcd_pki=$(dirname "${etcd_pki:-/etc/kubernetes/pki/etcd/ca.crt}")
etcd_image=$(for file in "$static_pod_folder/etcd.yaml" "$static_pods_away/etcd.yaml"; do
  [ ! -f "$file" ] || sed -nE 's/^ *image: "?([^"]+)"?$/\1/p' "$file"
done | head -n 1)

# etcd_tool PROGRAM ARGUMENT...: runs the host's etcdctl or etcdutl, or the one in etcd's image in a temporary container with access
# to the data and the certificates.
etcd_tool() {
  if have "$1"; then
    ETCDCTL_API=3 limit_of 300 "$@" </dev/null
  elif have ctr && unit_is_active containerd.service && ctr --timeout 10s -n k8s.io images ls -q 2>/dev/null | grep -qxF -- "$etcd_image"; then
    ctr --timeout 10s -n k8s.io containers rm gpuadm-etcd >/dev/null 2>&1 || : "there is none"
    limit_of 300 ctr -n k8s.io run --rm --net-host --env ETCDCTL_API=3 \
      --mount "type=bind,src=$etcd_data,dst=$etcd_data,options=rbind:rw" \
      --mount "type=bind,src=$etcd_pki,dst=$etcd_pki,options=rbind:ro" "$etcd_image" gpuadm-etcd "$@" </dev/null
  elif have docker && limit_of 10 docker image inspect "$etcd_image" >/dev/null 2>&1; then
    gpuadm_program=$1
    shift
    limit_of 300 docker run --rm --network host --env ETCDCTL_API=3 --volume "$etcd_data:$etcd_data" \
      --volume "$etcd_pki:$etcd_pki:ro" --entrypoint "$gpuadm_program" "$etcd_image" "$@" </dev/null
  else
    die "$1 is not installed, and neither containerd nor Docker has the image ${etcd_image:-of etcd}: install etcdctl (Debian: etcd-client)"
  fi
}
# etcd_client ARGUMENT...: uses the etcd member of this host.
etcd_client() {
  etcd_tool etcdctl --endpoints="$(etcd_url)" --cacert="$etcd_pki/ca.crt" --cert="$etcd_pki/healthcheck-client.crt" \
    --key="$etcd_pki/healthcheck-client.key" "$@"
}
# etcd_member_remove ID: "member not found" after a repetition: an earlier attempt removed it, and its answer was lost.
etcd_member_remove() {
  etcd_said=$(request etcd_client member remove "$1" 2>&1) || case $etcd_said in
    *'member not found'*) ;;
    *) die "cannot remove the etcd member $1: $(printf '%s\n' "$etcd_said" | tail -n 1)" ;;
  esac
  printf '%s\n' "$etcd_said"
}
# etcd_files ARGUMENT...: works on files; from etcd 3.6 on only etcdutl does.
etcd_files() {
  if (etcd_tool etcdutl version) >/dev/null 2>&1; then etcd_tool etcdutl "$@"; else etcd_tool etcdctl "$@"; fi
}
etcd_is_there() { [ -n "$etcd_image" ] || die "this host does not run etcd: $static_pod_folder/etcd.yaml does not exist"; }

# etcd_number NAME: a number in the JSON on stdin.
etcd_number() { tr ',{}' '\n' | sed -nE "s/^\"$1\":([0-9]+)\$/\\1/p" | head -n 1; }

# etcd_verify FILE: verifies the checksum and the pages, and prints "SHA256 SIZE HASH REVISION KEYS". A snapshot ends with the
# SHA-256 of the preceding bytes.
etcd_verify() {
  gpuadm_size=$(stat -c %s "$1")
  [ $((gpuadm_size % 512)) -eq 32 ] || die "$2 is not a complete etcd snapshot: $gpuadm_size bytes"
  [ "$(head -c -32 "$1" | sha256sum | cut -d' ' -f1)" = "$(tail -c 32 "$1" | od -An -tx1 | tr -d ' \n')" ] ||
    die "$2 is damaged: its checksum does not match"
  gpuadm_status=$(etcd_files snapshot status "$1" -w json) || die "$2 is damaged: etcd cannot read it"
  printf '%s %s %s %s %s\n' "$(sha256_of "$1")" "$gpuadm_size" "$(printf %s "$gpuadm_status" | etcd_number hash)" \
    "$(printf %s "$gpuadm_status" | etcd_number revision)" "$(printf %s "$gpuadm_status" | etcd_number totalKey)"
}

# --- Snapshot: $etcd_id names the one of this run --------------------------------------------------------

etcd_snapshot() {
  etcd_is_there
  rm -rf "$etcd_room"/snapshot-*
  cluster_keep_folder "$etcd_room"
  request etcd_client snapshot save "$etcd_room/snapshot-$etcd_id.db" >&2
  chmod 0600 "$etcd_room/snapshot-$etcd_id.db"
  gpuadm_verified=$(etcd_verify "$etcd_room/snapshot-$etcd_id.db" "the snapshot")
  printf '%s\n' "$gpuadm_verified" >"$etcd_room/snapshot-$etcd_id"
}
# etcd_snapshot_remove [ID]: this one, or also those of runs that were killed.
etcd_snapshot_remove() {
  rm -rf "$etcd_room/snapshot-${1:-}"*
  rmdir "$etcd_room" 2>/dev/null || :
}

# --- Restore: $etcd_sha256 names the file, $etcd_cluster all members, $etcd_bump what is added to revisions --

# etcd_members: what names the members, then "NAME ADDRESS" of each:
#   etcd      etcd, which has a majority
#   data      this member without a majority (etcd before 3.5 lists them then, too), or its file, which may still contain removed members
#   nodes     without data, the manifest and the API server's control planes
#   manifest  without an API server, too, the members when this host joined; the first control plane joined none, and has only itself
etcd_members() {
  etcd_is_there
  if gpuadm_members=$(etcd_client member list 2>/dev/null) && [ -n "$gpuadm_members" ]; then
    if etcd_client endpoint health >/dev/null 2>&1; then echo etcd; else echo data; fi
    printf '%s\n' "$gpuadm_members" | awk -F ', ' '{ print ($3 == "" ? "-" : $3), $4 }'
  elif gpuadm_members=$(grep -aoE '"peerURLs":\[("[^"]*",?)*\],("isLearner":[a-z]*,)?"name":"[^"]*"' "$etcd_data/member/snap/db" 2>/dev/null) && [ -n "$gpuadm_members" ]; then
    echo data
    printf '%s\n' "$gpuadm_members" | sed -nE 's/"peerURLs":\["?([^,"]*).*"name":"([^"]*)"$/\2 \1/p' | sort -u
  else
    gpuadm_members=$(static_pod_flag etcd initial-cluster | tr ',=' '\n ')
    if gpuadm_nodes=$(admin_kubectl get nodes -l node-role.kubernetes.io/control-plane 2>/dev/null \
      -o 'jsonpath={range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}'); then
      printf '%s\n' nodes "$gpuadm_members" "$gpuadm_nodes"
    else
      printf '%s\n' manifest "$gpuadm_members"
    fi
  fi | sed -E 's,^([^ ]+) [a-z]+://\[?([^]]*)\]?:[0-9]+$,\1 \2,'
}

# etcd_folder: where snapshots are. etcd_verified ID: what the host found out about a snapshot that it verified.
etcd_folder() { printf '%s\n' "$etcd_room"; }
etcd_verified() { cat "$etcd_room/snapshot-$1"; }

# etcd_member: "NAME=PEER-URL" of the etcd member of this host.
etcd_member() { printf '%s=%s\n' "$(static_pod_flag etcd name)" "$(static_pod_flag etcd initial-advertise-peer-urls)"; }

# etcd_bumps SHA256 CLUSTER: what is to be added to the revisions of the snapshot: more than the current revision, which is high if etcd was
# restored before; 0 if the program that restores it cannot (before etcd 3.5.10). "begun N" if an interrupted restore has chosen it.
etcd_bumps() {
  gpuadm_begun=$(cat "$etcd_room/restored" "$etcd_room/new/of" 2>/dev/null | of="$1 $2 " awk 'index($0, ENVIRON["of"]) == 1 { print "begun", $NF; exit }')
  if [ -n "$gpuadm_begun" ]; then
    printf '%s\n' "$gpuadm_begun"
  elif etcd_files snapshot restore --help 2>&1 | grep -q -e --bump-revision; then
    gpuadm_revision=$(etcd_client endpoint status -w json 2>/dev/null | etcd_number revision) || :
    echo $(((${gpuadm_revision:-0} / 1000000000 + 1) * 1000000000))
  else
    echo 0
  fi
}

# etcd_restores: what this restore makes: data of another one is made again.
etcd_restores() { printf '%s\n' "$etcd_sha256 $etcd_cluster $etcd_bump"; }
# Restored data is in new/member; after the swap, the file `restored` exists until the restore ends.
etcd_is_restored() { [ "$(cat "$etcd_room/restored" 2>/dev/null)" = "$(etcd_restores)" ]; }
etcd_is_prepared() { etcd_is_restored || { [ -d "$etcd_room/new/member" ] && [ "$(cat "$etcd_room/new/of" 2>/dev/null)" = "$(etcd_restores)" ]; }; }
# Clients that have seen later revisions than the snapshot's ignore objects until these are reached again, unless the revisions are raised.
etcd_prepare() {
  gpuadm_file=$etcd_room/restore.db
  etcd_verify "$gpuadm_file" "the snapshot" >&2
  rm -rf "$etcd_room/new" "$etcd_room/new.part" "$etcd_room/restored"
  gpuadm_name=$(static_pod_flag etcd name) gpuadm_peer=$(static_pod_flag etcd initial-advertise-peer-urls)
  set --
  [ "$etcd_bump" = 0 ] || set -- --bump-revision "$etcd_bump" --mark-compacted
  etcd_files snapshot restore "$gpuadm_file" "$@" --name "$gpuadm_name" --initial-cluster "$etcd_cluster" \
    --initial-advertise-peer-urls "$gpuadm_peer" --data-dir "$etcd_room/new.part" >&2
  [ -d "$etcd_room/new.part/member" ] || die "etcd restored no data from the snapshot"
  etcd_restores >"$etcd_room/new.part/of"
  sync -f "$etcd_room/new.part" 2>/dev/null || :
  mv "$etcd_room/new.part" "$etcd_room/new"
}
etcd_swap() {
  static_pods_are_stopped || die "the control plane is still running: run the restore again"
  if [ -d "$etcd_data/member" ]; then
    gpuadm_old=$etcd_data/member.before-$(date -u +%Y%m%dT%H%M%SZ)
    mv "$etcd_data/member" "$gpuadm_old"
    say "the previous etcd data is kept in $gpuadm_old"
  fi
  mv "$etcd_room/new/member" "$etcd_data/member"
  rm -rf "$etcd_room/new"
  etcd_restores >"$etcd_room/restored"
}
# The kubelet is restarted, too, because its cached state is newer than the restored data.
etcd_start() {
  journal_unit kubelet.service
  systemctl restart kubelet.service
  static_pods_start
}

# --- Defragmentation -------------------------------------------------------------------------------------

# etcd_free: the percentage of the database file that is free.
etcd_free() {
  etcd_is_there
  gpuadm_status=$(etcd_client endpoint status -w json) || die "etcd on this host does not respond: run gpuadm doctor --stage cluster"
  gpuadm_size=$(printf %s "$gpuadm_status" | etcd_number dbSize) gpuadm_used=$(printf %s "$gpuadm_status" | etcd_number dbSizeInUse)
  [ "${gpuadm_size:-0}" -gt 0 ] || die "etcd does not report the size of its database"
  echo $(((gpuadm_size - ${gpuadm_used:-0}) * 100 / gpuadm_size))
}
etcd_is_whole() { [ "$(cat "$cluster_kept/gpuadm-defrag" 2>/dev/null)" = "$gpuadm_run" ] || [ "$(etcd_free)" -lt 10 ]; }
etcd_defrag() {
  request etcd_client --command-timeout=240s defrag >&2
  in_time 120 api_answers || die "the API server does not respond after etcd was defragmented: run gpuadm doctor"
  etcd_free >/dev/null
  cluster_keep_folder "$cluster_kept"
  printf '%s\n' "$gpuadm_run" >"$cluster_kept/gpuadm-defrag"
}
