# shellcheck shell=sh disable=SC2154
# Makes the folder of a claim on a storage, removes it again if it is empty (drop), or with its files (purge); reports whether a pod may use
# it (look); makes the folder of the default StorageClass (class), or removes it if it has no volumes (class-drop); marks the removal of the
# storage's files (removal), or ends it (removal-end). Variables: action, storage_name, storage_kind, storage_place, namespace, name (look:
# several, in lines), mode, owner (UID:GID, or empty). Prints "made" or "existing", and the free bytes. Nothing is made outside of the
# marker, which exists only on the share. Exit status 3: refused; 4, of look: the storage is not mounted here.

# shellcheck source=playbooks/prelude.sh
[ "${prelude_is_here:-}" = yes ] || . "$(dirname "$0")/prelude.sh"
# shellcheck source=playbooks/storage.sh
[ "${storage_is_here:-}" = yes ] || . "$(dirname "$0")/storage.sh"
umask 077
storage_marker=$storage_place/gpuadm-$storage_name
# claim_is_folder NAME: in the held folder of the namespace. The folder may be anybody's, the entry is root's.
claim_is_folder() {
  storage_look "$1" || return 1
  case $gpuadm_mode in d*) ;; *) die "$storage_at/$1 is not a folder: it is a symbolic link or a file, so no pod may use it" ;; esac
}
claim_enter() { storage_enter claims && storage_enter "$namespace"; }
claim_in_use() { ! storage_exists ./removal || die "the storage $storage_name is being removed: finish it with gpuadm storage remove $storage_name --purge, or keep the storage with gpuadm storage add"; }

claim_make() {
  claim_in_use
  storage_make claims
  storage_make "$namespace"
  is=existing
  # An existing folder has the files of an earlier claim, and keeps its owner and its mode.
  if ! claim_is_folder "$name"; then
    # It is complete once it has its name.
    storage_write rm -rf --one-file-system "./.$name.new"
    storage_write mkdir -m 0700 "./.$name.new"
    if ! { [ -z "$owner" ] || storage_do chown -h "$owner" "./.$name.new"; } || ! storage_do chmod "$mode" "./.$name.new"; then
      storage_do rmdir "./.$name.new"
      die "the storage refuses the owner or the mode of $storage_at/$name: ${owner:-root}, $mode"
    fi
    storage_write mv -T "./.$name.new" "./$name"
    is=made
  fi
  printf '%s %s\n' "$is" "$(storage_do df -Pk . 2>/dev/null | awk 'NR == 2 { printf "%.0f", $4 * 1024 }')"
}
# A claim of another cluster may have the same name. A folder that an older version made has no list of clusters.
claim_purge() {
  if storage_exists ./clusters; then
    storage_other_clusters ||
      die "$storage_marker does not record that this cluster uses it, so $storage_at/claims/$namespace/$name may be in use by a claim of another one: its files are kept; if it is not, delete it by hand"
    [ -z "$gpuadm_others" ] ||
      die "several clusters use $storage_marker, so $storage_at/claims/$namespace/$name may be in use by a claim of another one: its files are kept; if it is not, delete it by hand"
  fi
  claim_enter || return 0
  timeout -k 5 1700 rm -rf --one-file-system -- "./$name" || die "cannot delete $storage_at/$name"
}
# A folder with volumes stays.
claim_class_drop() {
  if storage_enter volumes; then
    [ "$(storage_do ls -A .)" != .gpuadm ] || storage_write rm -f ./.gpuadm
    storage_leave
    storage_do rmdir ./volumes 2>/dev/null || storage_in volumes storage_write touch ./.gpuadm
  fi
  if storage_exists ./volumes; then echo kept; else echo deleted; fi
}
claim_look() {
  { storage_hold_marker && storage_has id; } || exit 4
  claim_in_use
  claim_enter || die "$storage_marker/claims/$namespace does not exist: run gpuadm storage list"
  set -f
  for one in $name; do claim_is_folder "$one" || die "$storage_at/$one, the folder of the claim, does not exist"; done
}

if [ "$action" = look ]; then
  claim_look
  exit 0
fi
{ storage_hold_marker && storage_has id; } ||
  die "$storage_marker does not exist on this host: the share is not mounted; run gpuadm storage list"
case $action in
  make) claim_make ;;
  drop) if claim_enter; then storage_do rmdir "./$name" 2>/dev/null || :; fi ;;
  purge) claim_purge ;;
  class)
    is=existing
    storage_exists ./volumes || is=made
    storage_volumes
    echo "$is"
    ;;
  class-drop) claim_class_drop ;;
  *) die "unknown action: $action" ;;
esac
