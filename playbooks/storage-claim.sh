# shellcheck shell=sh disable=SC2154
# Makes the folder of a claim on a storage, removes it again if it is empty (drop), or with its files (purge); or makes the folder of the default
# StorageClass (class), or removes it if it has no volumes (class-drop). Variables: action (make, drop, purge, class, class-drop), marker (the folder gpuadm-NAME), space, name, mode, owner (UID:GID, or empty). Prints "made" or "existing", and the free bytes. Nothing is made above the marker, which exists
# only on the share.

export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
umask 077
within() { timeout -k 5 20 "$@"; }
end() {
  case $1 in
    124 | 137) echo "the storage did not answer within 20s" >&2 ;;
    *) echo "$2" >&2 ;;
  esac
  exit 1
}

rc=0
within test -s "$marker/id" || rc=$?
[ "$rc" -eq 0 ] || end "$rc" "$marker does not exist on this host: the share is not mounted; run gpuadm storage list"
# A user who may write to the share could put a link or a folder of their own there. Below a folder of root's nobody else can.
[ ! -L "$marker" ] || end 1 "$marker is a symbolic link"
case $(within stat -c '%u %a' "$marker") in
  '0 700' | '65534 700') ;;
  *) end 1 "$marker does not belong to root (or nobody) with mode 0700" ;;
esac
folder=$marker/claims/$space/$name

case $action in
  class)
    # Its volumes are local volumes, and the file .gpuadm exists only on the storage, as in playbooks/storage/class.yaml.
    folder=$marker/volumes is=existing
    [ ! -L "$folder" ] || end 1 "$folder is a symbolic link"
    if within mkdir -m 0711 "$folder" 2>/dev/null; then is=made; fi
    within test -d "$folder" || end "$?" "$folder cannot be made: is the storage full or read-only?"
    within touch "$folder/.gpuadm" || end "$?" "cannot write to $folder"
    echo "$is"
    exit 0
    ;;
  class-drop)
    # A folder with volumes stays.
    folder=$marker/volumes
    if [ ! -L "$folder" ] && [ "$(within ls -A "$folder" 2>/dev/null)" = .gpuadm ]; then
      within rm -f "$folder/.gpuadm"
      within rmdir "$folder" || end "$?" "cannot delete $folder"
    fi
    if within test -e "$folder"; then echo kept; else echo deleted; fi
    exit 0
    ;;
  drop)
    within rmdir "$folder" 2>/dev/null || :
    exit 0
    ;;
  purge)
    [ ! -L "$folder" ] || end 1 "$folder is a symbolic link"
    # A claim of another cluster may have the same name. A folder that an older version made has no list of clusters.
    clusters=
    within test -d "$marker/clusters" || rc=$?
    case $rc in
      0) clusters=$(within ls -A "$marker/clusters") || end "$?" "cannot read $marker/clusters" ;;
      1) ;;
      *) end "$rc" "cannot read $marker/clusters" ;;
    esac
    [ "$(printf '%s\n' "$clusters" | wc -l)" -le 1 ] ||
      end 1 "several clusters use $marker, so $folder may be in use by a claim of another one: its files are kept; if it is not, delete it by hand"
    timeout -k 5 1700 rm -rf --one-file-system -- "$folder" || end "$?" "cannot delete $folder"
    exit 0
    ;;
esac
is=existing
within mkdir -p "$marker/claims/$space" || end "$?" "cannot write to $marker"
if within mkdir "$folder" 2>/dev/null; then
  is=made
elif [ -L "$folder" ] || ! within test -d "$folder"; then
  end 1 "$folder is not a folder, or cannot be made: is the share full or read-only?"
fi
# An existing folder has the files of an earlier claim, and keeps its owner and its mode.
if [ "$is" = made ]; then
  [ -z "$owner" ] || within chown -h "$owner" "$folder" || rc=$?
  [ "$rc" -ne 0 ] || within chmod "$mode" "$folder" || rc=$?
  if [ "$rc" -ne 0 ]; then
    within rmdir "$folder"
    end "$rc" "the storage refuses the owner or the mode of $folder: ${owner:-root}, $mode"
  fi
fi
printf '%s %s\n' "$is" "$(within df -Pk "$folder" 2>/dev/null | awk 'NR == 2 { printf "%.0f", $4 * 1024 }')"
