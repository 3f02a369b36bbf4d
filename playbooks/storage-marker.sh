# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the steps that create, test and delete the folder gpuadm-NAME on a share, loaded after storage.sh and storage-mounts.sh.

# --- The marker --------------------------------------------------------------------------------------

storage_marker_check() {
  [ "$storage_maker" = maker ] || return 0
  if storage_hold_marker && storage_has id && storage_is_recorded && ! storage_exists ./removal; then return 0; fi
  storage_needed
}
storage_marker_put() {
  [ "$storage_maker" = maker ] || return 0
  if storage_hold_marker && storage_has id; then
    storage_is_recorded || storage_record
    ! storage_exists ./removal || storage_write rm -f ./removal
    return 0
  fi
  if storage_is_mounted_kind; then
    storage_is_mounted || die "the storage $storage_name is not mounted at $storage_place: run again"
  elif [ -e "$storage_known/$storage_name.made" ]; then
    storage_die_unmounted
  fi
  storage_hold || die "$storage_place does not exist: run again"
  storage_make "gpuadm-$storage_name" private
  for gpuadm_folder in nodes claims clusters; do
    storage_make "$gpuadm_folder"
    storage_leave
  done
  gpuadm_id=$(cat /proc/sys/kernel/random/uuid)
  mkdir -p "$storage_known"
  printf '%s\n' "$gpuadm_id" >"$storage_known/$storage_name.new"
  storage_record
  storage_write_file id "$gpuadm_id"
  storage_note
}
# The clusters that use the folder: a file each, named by the digest of the cluster's CA certificate, with a host of it. A folder that an
# earlier gpuadm has made has no list: whose files it has is unknown. These functions act in the marker.
storage_is_recorded() {
  storage_exists ./clusters || return 0
  storage_cluster
  [ -n "$gpuadm_cluster" ] && storage_in clusters storage_exists "./$gpuadm_cluster"
}
storage_record() {
  storage_cluster
  [ -n "$gpuadm_cluster" ] || die "cannot read /etc/kubernetes/pki/ca.crt, which identifies the cluster"
  storage_make clusters
  storage_write_file "$gpuadm_cluster" "$(hostname)"
  storage_leave
}

# storage_note: this host has seen the marker of a share that gpuadm does not mount.
storage_note() {
  ! storage_is_mounted_kind || return 0
  [ ! -e "$storage_known/$storage_name.made" ] || return 0
  mkdir -p "$storage_known"
  journal_file "$storage_known/$storage_name.made"
  : >"$storage_known/$storage_name.made"
}

# storage_id: sets gpuadm_id to the id of the share.
storage_id() {
  { storage_hold_marker && gpuadm_id=$(storage_read id) && [ -n "$gpuadm_id" ]; } ||
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
  if [ -n "$gpuadm_id" ] && storage_hold_marker && [ "$(storage_read id)" = "$gpuadm_id" ] && storage_sees "$node_name"; then return 0; fi
  storage_needed
}
storage_share_put() {
  [ "$storage_kind" != local ] || return 0
  gpuadm_id=$(storage_key "$storage_name" "$ids")
  [ -n "$gpuadm_id" ] || die "the first control-plane node has no storage $storage_name: run gpuadm apply again"
  gpuadm_here=
  ! storage_hold_marker || gpuadm_here=$(storage_read id) || gpuadm_here=
  [ -n "$gpuadm_here" ] || die "$storage_place does not have the folder gpuadm-$storage_name that the first control-plane node has made: it is not the same share, or it is not mounted on this host"
  [ "$gpuadm_here" = "$gpuadm_id" ] || die "$storage_place of this host is another share than that of the first control-plane node: mount the same one"
  storage_make nodes
  storage_write_file "$node_name" "$gpuadm_id"
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
# storage_sees NODE: of the held marker.
storage_sees() { [ "$(storage_in nodes storage_read "$1")" = "$gpuadm_id" ]; }

# --- Deletion ------------------------------------------------------------------------------------------

# storage_is_new: the marker was created from this host, and nothing but gpuadm's own files was put into it. It is held afterwards.
storage_is_new() {
  [ "$storage_maker" = maker ] && [ -s "$storage_known/$storage_name.new" ] || return 1
  if storage_is_mounted_kind && ! storage_is_mounted; then return 1; fi
  storage_hold_marker || return 1
  # Without an id: it could not be written, because the share is full.
  ! storage_has id || [ "$(storage_read id)" = "$(cat "$storage_known/$storage_name.new")" ] || return 1
  if storage_other_clusters && [ -n "$gpuadm_others" ]; then return 1; fi
  gpuadm_left=$({ ! storage_exists ./claims || storage_do ls -A ./claims; } && storage_do ls -A . | grep -vxE 'id|id\.new|nodes|claims|clusters|removal') || : "nothing is left"
  [ -z "$gpuadm_left" ]
}
storage_withdraw_check() { ! storage_is_new || storage_needed; }
storage_withdraw() {
  storage_is_new || return 0
  # Only an empty folder can be removed: a claim that was made meanwhile stays.
  ! storage_exists ./claims || storage_do rmdir ./claims || die "cannot delete $storage_marker/claims"
  storage_do rm -rf --one-file-system -- ./nodes ./clusters ./id ./id.new ./removal || die "cannot delete the files in $storage_marker"
  storage_unmake
}
# storage_unmake: deletes the held marker, which is empty.
storage_unmake() {
  storage_leave
  storage_do rmdir "./gpuadm-$storage_name" || die "cannot delete $storage_marker"
}

# The data of gpuadm on the share. Nothing outside of the marker is deleted, and no other file system below it.
storage_purge_check() {
  storage_purge_held || return 0
  storage_needed
}
# storage_purge_held: enters the marker that is to be deleted; fails if this host has none to delete.
storage_purge_held() {
  [ "$storage_maker" = maker ] || return 1
  if storage_is_mounted_kind && ! storage_is_mounted; then return 1; fi
  storage_hold_marker
}
# storage_purge_may: refuses to delete a folder that another cluster uses, or of which this is unknown.
storage_purge_may() {
  storage_purge_held || return 0
  # All that an interrupted purge has left.
  [ -n "$(storage_do ls -A .)" ] || return 0
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
# storage_purge_begin: from now on no claim is made and no pod is started on it; storage_purge_end allows both again.
storage_purge_begin() {
  storage_purge_may
  storage_purge_held || return 0
  storage_exists ./removal || storage_write touch ./removal
}
storage_purge_end() {
  storage_purge_held || return 0
  storage_write rm -f ./removal
}
# The list of clusters is deleted last, so that an interrupted purge can be run again; before it the mark of the removal.
storage_purge() {
  storage_purge_may
  storage_purge_held || return 0
  for gpuadm_path in ./* ./.[!.]*; do
    case $gpuadm_path in ./clusters | ./removal) continue ;; esac
    rm -rf --one-file-system -- "$gpuadm_path" || die "cannot delete $storage_marker/${gpuadm_path#./}"
  done
  rm -rf --one-file-system -- ./removal ./clusters || die "cannot delete the files in $storage_marker"
  storage_unmake
}
