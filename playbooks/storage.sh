# shellcheck shell=sh disable=SC2034,SC2154
# What the steps of storage share, and playbooks/storage-claim.sh and read/storage.sh, loaded after prelude.sh; storage-mounts.sh,
# storage-marker.sh and storage-class.sh are loaded after it. A step has storages: a line for each storage of this host, columns apart by
# tabs, "-" for an empty one: name, kind, folder on the host, source, path in the source, user, options, "maker" on the host that makes the
# folder gpuadm-NAME. That folder is the marker: it is made on the share while the share is mounted, so a host on which the share is not
# mounted does not have it, and a pod that needs it does not start there.
#
#   gpuadm-NAME/id                  identifies the share
#   gpuadm-NAME/nodes/NODE          the id, as NODE has written it
#   gpuadm-NAME/clusters/DIGEST     a cluster that uses it
#   gpuadm-NAME/claims/SPACE/NAME   the files of a claim
#   gpuadm-NAME/volumes             the volumes of the default StorageClass
#   gpuadm-NAME/removal             `storage remove --purge` has begun: no claim is made and no pod is started
storage_is_here=yes

storage_files=/etc/gpuadm/storage # configuration and keys of CephFS, for root only
storage_known=$gpuadm_home/storage # ids of the markers that were made from this host

# A server that does not answer must not block a step: every access to a share ends after 20s.
storage_seconds=20
storage_do() { limit_of "$storage_seconds" "$@"; }

# storage_each FUNCTION: calls it for each storage; a failure ends the step, and so does one that was reported by storage_needed.
storage_each() {
  storage_left=no
  while IFS=$gpuadm_tab read -r storage_name storage_kind storage_place storage_source storage_path storage_user storage_options storage_maker; do
    [ -n "$storage_name" ] || continue
    storage_marker=$storage_place/gpuadm-$storage_name
    "$1" </dev/null
    cd / # no share is held
  done <<END
$(printf %s "$storages")
END
  [ "$storage_left" = no ] || exit 1
}
# storage_needed: the check of a step found work for it.
storage_needed() { storage_left=yes; }
storage_is_mounted_kind() { [ "$storage_kind" = nfs ] || [ "$storage_kind" = cephfs ]; }

# --- Folders that are held ------------------------------------------------------------------------------
# Users may write to a share. So a folder is entered before it is inspected, and everything in it is done by names relative to it: a user
# who replaces a folder on its path afterwards does not change where root writes. All functions after storage_hold act in the working directory.

# storage_hold: enters the folder of the storage. Fails if it does not exist; ends the step if a user may replace gpuadm-NAME in it.
storage_hold() {
  storage_exists "$storage_place/." || return 1
  path_look "$storage_place" follow || die "$gpuadm_why"
  [ "$gpuadm_actor" = root ] ||
    die "$gpuadm_theirs belongs to $gpuadm_actor, who could replace the storage $storage_name: run chown root:root $gpuadm_theirs, then run again"
  cd -P "$gpuadm_real" || return 1
  storage_at=$storage_place
  storage_look .
  storage_is_owned ||
    die "$storage_place, the folder of the storage $storage_name, belongs to $(user_name "$gpuadm_uid"), who could replace gpuadm-$storage_name there: run chown root:root $storage_place$(storage_where), then run again"
  gpuadm_uid=0 gpuadm_actor=root gpuadm_self=$(id -u)
  path_judge ||
    die "$gpuadm_name may write to $storage_place, the folder of the storage $storage_name, and could replace gpuadm-$storage_name there: run chmod +t $storage_place$(storage_where), which lets everybody create files but replace only their own, or chmod go-w $storage_place; then run again"
}
# storage_hold_marker: the same, then enters gpuadm-NAME. Fails if it does not exist.
storage_hold_marker() { storage_hold && storage_enter "gpuadm-$storage_name" private; }

# storage_enter NAME [private | anybody]: enters a folder of the held one. Fails if it does not exist; ends the step unless it is a folder to
# which nobody but root may write, or, with "private", which nobody else may read. With "anybody" it may be a user's: nothing in it is
# trusted, and it is only read, without following links.
storage_enter() {
  [ ! -L "./$1" ] || die "$storage_at/$1 is a symbolic link: remove it, then run again"
  storage_exists "./$1" || return 1
  { gpuadm_within=$(storage_do stat -c %d:%i .) && cd -P "./$1"; } || die "cannot enter the folder $storage_at/$1"
  storage_at=$storage_at/$1
  [ "$(storage_do stat -c %d:%i ..)" = "$gpuadm_within" ] || die "another process has replaced $storage_at: run again"
  storage_look .
  [ "${2:-}" = anybody ] || storage_is_roots "${2:-}" ||
    die "$storage_at does not belong to root$(storage_or_nobody)${2:+ with mode 0700}, or others may write to it, so gpuadm does not use it: rename it$(storage_or_export), then run again"
}
# storage_leave: back to the folder from which storage_enter entered the held one.
storage_leave() {
  cd -P .. || die "cannot leave the folder $storage_at"
  storage_at=${storage_at%/*}
}
# storage_in NAME COMMAND...: runs it in that folder of the held one; fails if there is none.
storage_in() {
  storage_enter "$1" || return 1
  shift
  gpuadm_in=0
  "$@" || gpuadm_in=$?
  storage_leave
  return "$gpuadm_in"
}
# storage_make NAME [private]: enters the folder, and makes it if it does not exist.
storage_make() {
  storage_enter "$@" && return 0
  storage_write mkdir -m 0700 "./$1"
  storage_enter "$@" || die "cannot make the folder $storage_at/$1"
}

# storage_exists PATH: fails if it does not; a server that does not answer ends the step.
storage_exists() {
  gpuadm_rc=0
  storage_do test -e "$1" || gpuadm_rc=$?
  case $gpuadm_rc in
    0 | 1) return "$gpuadm_rc" ;;
    *) die "the storage $storage_name at $storage_place did not answer within ${storage_seconds}s" ;;
  esac
}
# storage_has FILE: a file that is not empty.
storage_has() { storage_exists "./$1" && storage_do test -s "./$1"; }
# storage_read FILE: prints it; fails if it cannot be read.
storage_read() { storage_do head -c 64 "./$1" 2>/dev/null; }
# storage_look NAME: sets gpuadm_mode, gpuadm_uid and gpuadm_gid; fails if there is none.
storage_look() {
  [ -L "./$1" ] || storage_exists "./$1" || return 1
  path_stat "./$1" || return 1
  [ "$1" != . ] || gpuadm_at=$storage_at
}
# storage_is_owned: by root, or by nobody, as which a server with root_squash treats root.
storage_is_owned() {
  case $storage_kind:$gpuadm_uid in *:0 | nfs:65534 | path:65534) ;; *) return 1 ;; esac
}
# storage_is_roots [private]: what storage_look has inspected is such a folder.
storage_is_roots() {
  storage_is_owned || return 1
  case ${1:-}$gpuadm_mode in d????-??-* | privatedr?x--[-S]--[-T]*) ;; *) return 1 ;; esac
}
storage_or_nobody() { case $storage_kind in nfs | path) echo " or nobody (65534)" ;; esac; }
storage_or_export() { [ "$storage_kind" != nfs ] || echo ", or export the share with no_root_squash"; }
storage_where() { [ "$storage_kind" = local ] || echo " (on the server, if it refuses root)"; }

# storage_write COMMAND...: a command that writes to the held folder. A server may refuse root.
storage_write() {
  gpuadm_rc=0
  gpuadm_said=$(storage_do "$@" 2>&1) || gpuadm_rc=$?
  case $gpuadm_rc:$gpuadm_said in
    0:*) ;;
    124:* | 137:*) die "the storage $storage_name at $storage_place did not answer within ${storage_seconds}s" ;;
    *'No space left on device'* | *'Disk quota exceeded'*) storage_die_full ;;
    *)
      # The shell only says "I/O error".
      [ "$(storage_do stat -f -c %a . 2>/dev/null)" != 0 ] || storage_die_full
      die "cannot write to the storage $storage_name at $storage_place: $(storage_hint)"
      ;;
  esac
}
storage_die_full() { die "the storage $storage_name at $storage_place is full: delete files there, or raise its quota"; }
storage_hint() {
  case $storage_kind in
    nfs) echo "the export must be writable for root (no_root_squash), or its folder must belong to nobody (65534) or have mode 1777" ;;
    cephfs) echo "client.${storage_user:-USER} must be allowed to write (mds 'allow rw')" ;;
    *) echo "root must be able to write there" ;;
  esac
}
# storage_write_file NAME TEXT: into the held folder, as a new file that replaces the one of that name.
storage_write_file() {
  # shellcheck disable=SC2016 # of the inner shell
  storage_write sh -c 'rm -f "./$1.new" && set -C && printf "%s\n" "$2" >"./$1.new" && mv -fT "./$1.new" "./$1"' sh "$1" "$2"
}

# storage_volumes: makes the folder of the default StorageClass in the held marker, and its file .gpuadm, which exists only on the storage.
storage_volumes() {
  storage_enter volumes || {
    storage_write mkdir -m 0711 ./volumes
    storage_enter volumes || die "cannot make the folder $storage_at/volumes"
  }
  storage_exists ./.gpuadm || storage_write touch ./.gpuadm
}

# --- The clusters that use the held marker ----------------------------------------------------------------

storage_cluster() { gpuadm_cluster=$(sha256_of /etc/kubernetes/pki/ca.crt 2>/dev/null); }
# storage_other_clusters: sets gpuadm_cluster, and gpuadm_others to the names of other files in the list. Fails if this cluster is not in it.
storage_other_clusters() {
  storage_cluster
  gpuadm_others=$(storage_in clusters storage_do ls -A 2>/dev/null) || return 1
  [ -n "$gpuadm_cluster" ] && printf '%s\n' "$gpuadm_others" | grep -qxF -- "$gpuadm_cluster" || return 1
  gpuadm_others=$(printf '%s\n' "$gpuadm_others" | grep -vxF -e "$gpuadm_cluster" -e "$gpuadm_cluster.new") || : "there is none"
}
