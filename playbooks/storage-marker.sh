# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the steps that create, test and delete the folder gpuadm-NAME on a share, loaded after storage.sh and storage-mounts.sh.

# --- The marker --------------------------------------------------------------------------------------

storage_marker_check() {
  [ "$storage_maker" = maker ] || return 0
  if storage_do test -s "$storage_marker/id" && storage_is_recorded; then return 0; fi
  storage_needed
}
# A user who may write to the share could put a link or a folder of their own where the marker belongs.
storage_marker_guard() {
  if [ ! -L "$storage_marker" ] && ! storage_do test -e "$storage_marker"; then return 0; fi
  [ ! -L "$storage_marker" ] || die "$storage_marker is a symbolic link: remove it, then run again"
  case $(storage_do stat -c '%u %a' "$storage_marker") in
    '0 700' | '65534 700') ;;
    *) die "$storage_marker does not belong to root (or nobody) with mode 0700, so gpuadm does not write to it: rename it, or export the share with no_root_squash, then run again" ;;
  esac
}
storage_marker_put() {
  [ "$storage_maker" = maker ] || return 0
  storage_marker_guard
  if storage_do test -s "$storage_marker/id"; then
    storage_is_recorded || storage_record
    return 0
  fi
  if storage_is_mounted_kind; then
    storage_is_mounted || die "the storage $storage_name is not mounted at $storage_place: run again"
  elif [ -e "$storage_known/$storage_name.made" ]; then
    storage_die_unmounted
  fi
  storage_write mkdir -p -m 0700 "$storage_marker"
  storage_write mkdir -p -m 0700 "$storage_marker/nodes" "$storage_marker/claims" "$storage_marker/clusters"
  gpuadm_id=$(cat /proc/sys/kernel/random/uuid)
  mkdir -p "$storage_known"
  printf '%s\n' "$gpuadm_id" >"$storage_known/$storage_name.new"
  storage_record
  storage_write_file "$storage_marker/id" "$gpuadm_id"
  storage_note
}
# The clusters that use the folder: a file each, named by the digest of the cluster's CA certificate, with a host of it. A folder that an
# earlier gpuadm has made has no list: whose files it has is unknown.
storage_cluster() { gpuadm_cluster=$(sha256_of /etc/kubernetes/pki/ca.crt 2>/dev/null); }
storage_is_recorded() {
  storage_do test -d "$storage_marker/clusters" || return 0
  storage_cluster
  [ -n "$gpuadm_cluster" ] && storage_do test -e "$storage_marker/clusters/$gpuadm_cluster"
}
storage_record() {
  storage_cluster
  [ -n "$gpuadm_cluster" ] || die "cannot read /etc/kubernetes/pki/ca.crt, which identifies the cluster"
  storage_write_file "$storage_marker/clusters/$gpuadm_cluster" "$(hostname)"
}
# storage_other_clusters: sets gpuadm_cluster, and gpuadm_others to the names of other files in the list. Fails if this cluster is not in it.
storage_other_clusters() {
  storage_cluster
  gpuadm_others=$(storage_do ls -A "$storage_marker/clusters" 2>/dev/null) || return 1
  [ -n "$gpuadm_cluster" ] && printf '%s\n' "$gpuadm_others" | grep -qxF -- "$gpuadm_cluster" || return 1
  gpuadm_others=$(printf '%s\n' "$gpuadm_others" | grep -vxF -e "$gpuadm_cluster" -e "$gpuadm_cluster.new") || : "there is none"
}

# storage_note: this host has seen the marker of a share that gpuadm does not mount.
storage_note() {
  ! storage_is_mounted_kind || return 0
  [ ! -e "$storage_known/$storage_name.made" ] || return 0
  mkdir -p "$storage_known"
  journal_file "$storage_known/$storage_name.made"
  : >"$storage_known/$storage_name.made"
}

# storage_write COMMAND...: a command that writes to the share, which may refuse root.
storage_write() {
  gpuadm_rc=0
  gpuadm_said=$(storage_do "$@" 2>&1) || gpuadm_rc=$?
  case $gpuadm_rc:$gpuadm_said in
    0:*) ;;
    124:* | 137:*) die "the storage $storage_name at $storage_place did not answer within 20s" ;;
    *'No space left on device'* | *'Disk quota exceeded'*) storage_die_full ;;
    *)
      # The shell only says "I/O error".
      [ "$(storage_do stat -f -c %a "$storage_place" 2>/dev/null)" != 0 ] || storage_die_full
      die "cannot write to the storage $storage_name at $storage_place: $(storage_hint)"
      ;;
  esac
}
storage_die_full() { die "the storage $storage_name at $storage_place is full: delete files there, or raise its quota"; }
storage_hint() {
  case $storage_kind in
    nfs) echo "the export must be writable, also for root (no_root_squash), or its folder for everybody" ;;
    cephfs) echo "client.$storage_user must be allowed to write (mds 'allow rw')" ;;
    *) echo "root must be able to write there" ;;
  esac
}
storage_write_file() {
  # shellcheck disable=SC2016 # of the inner shell
  storage_write sh -c 'printf "%s\n" "$2" >"$1.new" && mv -f "$1.new" "$1"' sh "$1" "$2"
}

# storage_id: sets gpuadm_id to the id of the share.
storage_id() {
  { gpuadm_id=$(storage_do head -c 64 "$storage_marker/id") && [ -n "$gpuadm_id" ]; } ||
    die "cannot read $storage_marker/id of the storage $storage_name: check that the share is mounted and that its server answers, then run again"
}
# storage_ids_here: "NAME ID" of each storage of all hosts.
storage_ids_here() { storage_each storage_id_print; }
storage_id_print() {
  [ "$storage_kind" != local ] || return 0
  storage_id
  printf '%s %s\n' "$storage_name" "$gpuadm_id"
}

# --- The same share on every host: each reads what the first has written, and the first what each has written -----

# $ids: lines "NAME ID" of the first control-plane node.
storage_share_check() {
  [ "$storage_kind" != local ] || return 0
  gpuadm_id=$(storage_key "$storage_name" "$ids")
  gpuadm_here=$(storage_do head -c 64 "$storage_marker/id" 2>/dev/null) || gpuadm_here=
  gpuadm_own=$(storage_do head -c 64 "$storage_marker/nodes/$node_name" 2>/dev/null) || gpuadm_own=
  if [ -n "$gpuadm_id" ] && [ "$gpuadm_here" = "$gpuadm_id" ] && [ "$gpuadm_own" = "$gpuadm_id" ]; then return 0; fi
  storage_needed
}
storage_share_put() {
  [ "$storage_kind" != local ] || return 0
  gpuadm_id=$(storage_key "$storage_name" "$ids")
  [ -n "$gpuadm_id" ] || die "the first control-plane node has no storage $storage_name: run gpuadm apply again"
  gpuadm_here=$(storage_do head -c 64 "$storage_marker/id" 2>/dev/null) || gpuadm_here=
  [ -n "$gpuadm_here" ] || die "$storage_place does not have the folder gpuadm-$storage_name that the first control-plane node has made: it is not the same share, or it is not mounted on this host"
  [ "$gpuadm_here" = "$gpuadm_id" ] || die "$storage_place of this host is another share than that of the first control-plane node: mount the same one"
  storage_marker_guard
  storage_write_file "$storage_marker/nodes/$node_name" "$gpuadm_id"
  storage_note
}

# storage_seen: on the first control-plane node: every node of the run has written its file. NFS may show it with a delay.
storage_seen_check() {
  [ "$storage_kind" != local ] || return 0
  storage_id
  for gpuadm_node in $node_names; do
    in_time 15 storage_sees "$gpuadm_node" || die "this host does not see the file that $gpuadm_node has written to the storage $storage_name: it is not the same share"
  done
}
storage_sees() { [ "$(storage_do head -c 64 "$storage_marker/nodes/$1" 2>/dev/null)" = "$gpuadm_id" ]; }

# --- Deletion ------------------------------------------------------------------------------------------

# storage_is_new: the marker was created from this host, and nothing but gpuadm's own files was put into it.
storage_is_new() {
  [ "$storage_maker" = maker ] && [ -s "$storage_known/$storage_name.new" ] || return 1
  if storage_is_mounted_kind && ! storage_is_mounted; then return 1; fi
  [ ! -L "$storage_marker" ] || return 1
  if storage_do test -s "$storage_marker/id"; then
    [ "$(storage_do head -c 64 "$storage_marker/id" 2>/dev/null)" = "$(cat "$storage_known/$storage_name.new")" ] || return 1
  else
    storage_do test -d "$storage_marker" || return 1 # the id could not be written: the share is full
  fi
  if storage_other_clusters && [ -n "$gpuadm_others" ]; then return 1; fi
  gpuadm_left=$({ ! storage_do test -e "$storage_marker/claims" || storage_do ls -A "$storage_marker/claims"; } && storage_do ls -A "$storage_marker" | grep -vxE 'id|id\.new|nodes|claims|clusters') || : "nothing is left"
  [ -z "$gpuadm_left" ]
}
storage_withdraw_check() { ! storage_is_new || storage_needed; }
storage_withdraw() {
  storage_is_new || return 0
  # Only an empty folder can be removed: a claim that was made meanwhile stays.
  ! storage_do test -e "$storage_marker/claims" || storage_do rmdir "$storage_marker/claims" || die "cannot delete $storage_marker/claims"
  storage_do rm -rf --one-file-system -- "$storage_marker/nodes" "$storage_marker/clusters" "$storage_marker/id" "$storage_marker/id.new" || die "cannot delete the files in $storage_marker"
  storage_do rmdir "$storage_marker" || die "cannot delete $storage_marker"
}

# The data of gpuadm on the share. Nothing outside of the marker is deleted, and no other file system below it.
storage_purge_check() {
  [ "$storage_maker" = maker ] || return 0
  if storage_is_mounted_kind && ! storage_is_mounted; then return 0; fi
  if storage_do test -d "$storage_marker"; then storage_needed; fi
}
# storage_purge_may: refuses to delete a folder that another cluster uses, or of which this is unknown.
storage_purge_may() {
  [ "$storage_maker" = maker ] || return 0
  if storage_is_mounted_kind && ! storage_is_mounted; then return 0; fi
  [ ! -L "$storage_marker" ] || die "$storage_marker is a symbolic link: gpuadm does not delete what it points to"
  gpuadm_rc=0
  storage_do test -d "$storage_marker" || gpuadm_rc=$?
  case $gpuadm_rc in
    0) ;;
    1) return 0 ;;
    *) die "the storage $storage_name at $storage_place did not answer within 20s" ;;
  esac
  if ! storage_other_clusters; then
    gpuadm_fix="mkdir -p -m 0700 $storage_marker/clusters && touch $storage_marker/clusters/$gpuadm_cluster"
    [ -n "$gpuadm_cluster" ] || gpuadm_fix="look at /etc/kubernetes/pki/ca.crt, which identifies the cluster"
    die "$storage_marker is not deleted, because it does not record that this cluster uses it: another cluster, or an earlier gpuadm, has made it. If all files in it belong to this cluster, on this host: $gpuadm_fix; then run again. Without --purge the files stay"
  fi
  [ -z "$gpuadm_others" ] || {
    gpuadm_others=$(printf '%s' "$gpuadm_others" | tr -c 'A-Za-z0-9.' ' ')
    die "$storage_marker is not deleted, because another cluster has used it, too, and may have files in it: $gpuadm_others. If they can be deleted, on this host: cd $storage_marker/clusters && cat $gpuadm_others && rm $gpuadm_others; then run again. Without --purge the files stay"
  }
}
# The list of clusters is deleted last, so that an interrupted purge can be run again.
storage_purge() {
  storage_purge_may
  [ "$storage_maker" = maker ] || return 0
  if storage_is_mounted_kind && ! storage_is_mounted; then return 0; fi
  for gpuadm_path in "$storage_marker"/* "$storage_marker"/.[!.]*; do
    case $gpuadm_path in */clusters) continue ;; esac
    rm -rf --one-file-system -- "$gpuadm_path" || die "cannot delete $gpuadm_path"
  done
  rm -rf --one-file-system -- "$storage_marker" || die "cannot delete $storage_marker"
}
