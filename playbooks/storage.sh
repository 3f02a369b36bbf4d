# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the steps that mount storage and remove it, loaded after prelude.sh and package-managers.sh. A step has storages: a line for
# each storage of this host, columns apart by tabs, "-" for an empty one: name, kind, folder on the host, source, path in the source, user,
# options, "maker" on the host that makes the folder gpuadm-NAME. That folder is the marker: it is made on the share while the share is
# mounted, so a host on which the share is not mounted does not have it, and a pod that needs it does not start there.
#
#   gpuadm-NAME/id                  identifies the share
#   gpuadm-NAME/nodes/NODE          the id, as NODE has written it
#   gpuadm-NAME/claims/SPACE/NAME   the files of a claim

storage_files=/etc/gpuadm/storage # configuration and keys of CephFS, for root only
storage_known=$gpuadm_home/storage # ids of the markers that were made from this host

# A server that does not answer must not block a step: every access to a share ends after 20s.
storage_do() { limit_of 20 "$@"; }

# storage_each FUNCTION: calls it for each storage; a failure ends the step, and so does one that was reported by storage_needed.
storage_each() {
  storage_left=no
  while IFS=$gpuadm_tab read -r storage_name storage_kind storage_place storage_source storage_path storage_user storage_options storage_maker; do
    [ -n "$storage_name" ] || continue
    storage_marker=$storage_place/gpuadm-$storage_name
    "$1" </dev/null
  done <<END
$(printf %s "$storages")
END
  [ "$storage_left" = no ] || exit 1
}
# storage_needed: the check of a step found work for it.
storage_needed() { storage_left=yes; }
storage_is_mounted_kind() { [ "$storage_kind" = nfs ] || [ "$storage_kind" = cephfs ]; }

# --- Clients -----------------------------------------------------------------------------------------

# storage_kernel_has TYPE: the kernel has the file system, or a module of it.
storage_kernel_has() { grep -qw "$1" /proc/filesystems || modprobe -n -q "$1" 2>/dev/null; }
# storage_ceph_type: the type of a CephFS mount here.
storage_ceph_type() { if storage_kernel_has ceph; then echo ceph; else echo fuse.ceph; fi; }

# storage_client_install PACKAGE PROGRAM: for Debian's family.
storage_client_install() {
  [ "${package_source:-}" = bundle ] || apt-get update >/dev/null || : "what is known already may do"
  packages_install "$1" || die "cannot install $1: ${package_source:+the bundle does not have it: }install the package yourself, then run again"
  have "$2" || die "$1 is installed, and $2 is missing"
}

# --- Keys of CephFS ----------------------------------------------------------------------------------

# storage_key NAME KEYS: its key from lines "NAME KEY".
storage_key() { printf '%s\n' "$2" | name=$1 awk '$1 == ENVIRON["name"] { print $2; exit }'; }
# The keys of this host, for others that join.
storage_keys_here() {
  storage_each storage_key_print
}
storage_key_print() {
  [ "$storage_kind" = cephfs ] || return 0
  [ -s "$storage_files/$storage_name.key" ] || die "$storage_files/$storage_name.key does not exist on this host: run gpuadm apply -f FILE with keyFile for the storage $storage_name"
  printf '%s %s\n' "$storage_name" "$(cat "$storage_files/$storage_name.key")"
}

# storage_client_files FUNCTION: calls it for each file of the client of a CephFS, with its path and $content. $keys has lines "NAME KEY"; a
# storage without one keeps its key.
storage_client_files() {
  [ "$storage_kind" = cephfs ] || return 0
  gpuadm_key=$(storage_key "$storage_name" "$keys")
  if [ -n "$gpuadm_key" ]; then
    content="$gpuadm_key$gpuadm_newline"
    "$1" "$storage_files/$storage_name.key"
    content="[client.$storage_user]
	key = $gpuadm_key
"
    "$1" "$storage_files/$storage_name.keyring"
  fi
  content="# Written by gpuadm: the client of the storage $storage_name.
[global]
mon host = $storage_source
[client]
keyring = $storage_files/$storage_name.keyring
client mountpoint = $storage_path
client mount timeout = 30
"
  "$1" "$storage_files/$storage_name.conf"
}
storage_file_check() { file_is "$1" 0600 >/dev/null || storage_needed; }
storage_file_put() {
  if file_is "$1" 0600 >/dev/null; then return 0; fi
  file_put "$1" 0600
  mkdir -p "$gpuadm_home/storage"
  : >"$gpuadm_home/storage/$storage_name.changed"
}
storage_client_check() { storage_client_files storage_file_check; }
storage_client_put() { storage_client_files storage_file_put; }

# --- Mounts ------------------------------------------------------------------------------------------

storage_unit() { systemd-escape --path --suffix=mount "$storage_place"; }

# The unit waits for the network, and nothing waits for it: a server that does not answer delays neither the boot nor a login. A stop
# detaches the file system even if it is in use or its server does not answer.
storage_unit_text() {
  gpuadm_options=$storage_options
  [ "$gpuadm_options" != - ] || gpuadm_options=
  case $storage_kind in
    nfs)
      gpuadm_type=nfs gpuadm_what=$storage_source
      ;;
    *)
      gpuadm_type=$(storage_ceph_type)
      if [ "$gpuadm_type" = ceph ]; then
        gpuadm_what=$storage_source:$storage_path
        gpuadm_options=name=$storage_user,secretfile=$storage_files/$storage_name.key,conf=$storage_files/$storage_name.conf${gpuadm_options:+,$gpuadm_options}
      else
        gpuadm_what=none
        gpuadm_options=ceph.id=$storage_user,ceph.conf=$storage_files/$storage_name.conf${gpuadm_options:+,$gpuadm_options}
      fi
      ;;
  esac
  content="# Written by gpuadm.
[Unit]
Description=gpuadm storage $storage_name
DefaultDependencies=no
Wants=network-online.target
After=network.target network-online.target
Conflicts=umount.target
Before=umount.target

[Mount]
What=$gpuadm_what
Where=$storage_place
Type=$gpuadm_type
${gpuadm_options:+Options=$gpuadm_options
}TimeoutSec=60
LazyUnmount=yes

[Install]
WantedBy=multi-user.target
"
}
storage_unit_path() { printf '/etc/systemd/system/%s\n' "$(storage_unit)"; }

# storage_mount_line: type and options of what is mounted there now.
storage_mount_line() {
  at=$storage_place awk '$5 == ENVIRON["at"] { for (i = 7; i <= NF; ++i) if ($i == "-") { found = $(i + 1) " " $6 } } END { if (found != "") print found }' /proc/self/mountinfo
}
storage_is_mounted() {
  case $storage_kind:$(storage_mount_line) in
    nfs:nfs\ * | nfs:nfs4\ * | cephfs:ceph\ * | cephfs:fuse.ceph*) ;;
    *) return 1 ;;
  esac
}

storage_unit_check() {
  storage_is_mounted_kind || return 0
  storage_unit_text
  file_is "$(storage_unit_path)" 0644 >/dev/null && return 0
  printf '%s' "$content" | would_become "$(storage_unit_path)"
  storage_needed
}
storage_unit_put() {
  storage_is_mounted_kind || return 0
  storage_unit_text
  if file_is "$(storage_unit_path)" 0644 >/dev/null; then return 0; fi
  file_put "$(storage_unit_path)" 0644
  mkdir -p "$gpuadm_home/storage"
  : >"$gpuadm_home/storage/$storage_name.changed"
}

storage_mount_check() {
  storage_is_mounted_kind || return 0
  if storage_is_mounted && [ ! -e "$gpuadm_home/storage/$storage_name.changed" ] && systemctl is-enabled --quiet "$(storage_unit)"; then return 0; fi
  storage_needed
}
storage_mount() {
  storage_is_mounted_kind || return 0
  gpuadm_unit=$(storage_unit)
  # A mount whose server does not answer must not be touched.
  if [ -z "$(storage_mount_line)" ] && [ ! -d "$storage_place" ]; then
    journal_parents "$storage_place/."
    mkdir -p "$storage_place"
  fi
  systemctl daemon-reload
  journal_unit "$gpuadm_unit"
  if [ -e "$gpuadm_home/storage/$storage_name.changed" ] || ! storage_is_mounted; then
    systemctl reset-failed "$gpuadm_unit" 2>/dev/null || : "it has not failed"
    gpuadm_since=$(date +%s)
    limit_of 150 systemctl restart "$gpuadm_unit" || storage_mount_failed
    storage_is_mounted || storage_mount_failed
    rm -f "$gpuadm_home/storage/$storage_name.changed"
  fi
  # A share that cannot be mounted is not tried at every boot.
  systemctl enable --quiet "$gpuadm_unit"
}
storage_mount_failed() {
  gpuadm_why=$(journalctl -u "$gpuadm_unit" --since "@$gpuadm_since" -o cat --no-pager 2>/dev/null | grep -v '^\(Mounting\|Unmounting\|Mounted\|Unmounted\|Failed to mount\)' | tail -n 4)
  printf '%s\n' "$gpuadm_why" >&2
  case $gpuadm_why in
    *imed\ out*) gpuadm_why="the server did not answer within 60s" ;;
    *) gpuadm_why="see above" ;;
  esac
  limit_of 90 systemctl stop "$gpuadm_unit" 2>/dev/null || : "it is not mounted"
  case $storage_kind in
    nfs) die "cannot mount $storage_source of the storage $storage_name: $gpuadm_why; check the address, the export and its clients on the server, and the firewall" ;;
    *) die "cannot mount CephFS of the storage $storage_name from $storage_source: $gpuadm_why; check the monitors' addresses, the user client.$storage_user and its key" ;;
  esac
}

# --- Folders of hosts --------------------------------------------------------------------------------

# A local folder is made if it is missing; the folder of a share that the operator mounts must exist.
storage_folder_check() {
  case $storage_kind in
    local) [ -d "$storage_place" ] || storage_needed ;;
    path)
      storage_do test -d "$storage_place" || die "$storage_place of the storage $storage_name does not exist on this host: mount the share there, then run again"
      [ ! -e "$storage_known/$storage_name.made" ] || storage_do test -s "$storage_marker/id" || storage_die_unmounted
      ;;
  esac
}
storage_die_unmounted() {
  die "$storage_place had the folder gpuadm-$storage_name, and does not have it now: mount the share again; if its files are permanently gone, run rm $storage_known/$storage_name.made on this host, then run again"
}
storage_folder_put() {
  if [ "$storage_kind" != local ] || [ -d "$storage_place" ]; then return 0; fi
  [ ! -e "$storage_place" ] || die "$storage_place is not a folder"
  path_open "$storage_place"
  journal_parents "$storage_place/."
  mkdir -p "$storage_place"
}

# --- The marker --------------------------------------------------------------------------------------

storage_marker_check() {
  [ "$storage_maker" = maker ] || return 0
  if storage_do test -s "$storage_marker/id"; then return 0; fi
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
  ! storage_do test -s "$storage_marker/id" || return 0
  if storage_is_mounted_kind; then
    storage_is_mounted || die "the storage $storage_name is not mounted at $storage_place: run again"
  elif [ -e "$storage_known/$storage_name.made" ]; then
    storage_die_unmounted
  fi
  storage_write mkdir -p -m 0700 "$storage_marker"
  storage_write mkdir -p -m 0700 "$storage_marker/nodes" "$storage_marker/claims"
  storage_write_file "$storage_marker/id" "$(cat /proc/sys/kernel/random/uuid)"
  storage_note
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
  storage_do "$@" || gpuadm_rc=$?
  case $gpuadm_rc in
    0) ;;
    124 | 137) die "the storage $storage_name at $storage_place did not answer within 20s" ;;
    *) die "cannot write to the storage $storage_name at $storage_place: $(storage_hint)" ;;
  esac
}
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

# storage_ids_here: "NAME ID" of each storage of all hosts.
storage_ids_here() { storage_each storage_id_print; }
storage_id_print() {
  [ "$storage_kind" != local ] || return 0
  gpuadm_id=$(storage_do head -c 64 "$storage_marker/id") || die "cannot read $storage_marker/id of the storage $storage_name"
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
  for gpuadm_node in $node_names; do
    in_time 15 storage_sees "$gpuadm_node" || die "this host does not see the file that $gpuadm_node has written to the storage $storage_name: it is not the same share"
  done
}
storage_sees() { [ "$(storage_do head -c 64 "$storage_marker/nodes/$1" 2>/dev/null)" = "$(storage_do head -c 64 "$storage_marker/id" 2>/dev/null)" ]; }

# --- The default StorageClass ------------------------------------------------------------------------

class_kubectl() { limit_of 60 kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s "$@"; }
# class_others: default StorageClasses that are not gpuadm's.
class_others() {
  class_kubectl get storageclasses -o 'jsonpath={range .items[*]}{.metadata.name}{"\t"}{.metadata.annotations.storageclass\.kubernetes\.io/is-default-class}{"\t"}{.metadata.labels.app\.kubernetes\.io/managed-by}{"\n"}{end}' |
    awk -F '\t' '$2 == "true" && $3 != "gpuadm" { print $1 }'
}
# class_claims: "NAMESPACE/NAME" of claims of the class.
class_claims() {
  class_kubectl get persistentvolumeclaims --all-namespaces -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\t"}{.spec.storageClassName}{"\n"}{end}' |
    awk -F '\t' '$2 == "local-path" { print $1 }'
}

# --- Removal -----------------------------------------------------------------------------------------

storage_unmount_check() {
  if storage_is_mounted_kind; then
    [ ! -e "$(storage_unit_path)" ] || storage_needed
    [ -z "$(storage_mount_line)" ] || storage_needed
  fi
  for gpuadm_end in key keyring conf; do [ ! -e "$storage_files/$storage_name.$gpuadm_end" ] || storage_needed; done
  [ ! -e "$storage_known/$storage_name.made" ] || storage_needed
}
storage_unmount() {
  if storage_is_mounted_kind; then
    gpuadm_unit=$(storage_unit)
    if [ -e "$(storage_unit_path)" ]; then
      journal_unit "$gpuadm_unit"
      limit_of 90 systemctl stop "$gpuadm_unit" || die "cannot unmount $storage_place: run systemctl status $gpuadm_unit"
      systemctl disable --quiet "$gpuadm_unit"
      journal_file "$(storage_unit_path)"
      rm -f "$(storage_unit_path)"
      systemctl daemon-reload
    fi
    [ -z "$(storage_mount_line)" ] || limit_of 30 umount -l "$storage_place" || die "cannot unmount $storage_place"
    [ ! -d "$storage_place" ] || { journal_thing directory "$storage_place" && rmdir "$storage_place" 2>/dev/null; } || : "something is in it"
  fi
  for gpuadm_end in key keyring conf; do
    [ -e "$storage_files/$storage_name.$gpuadm_end" ] || continue
    journal_file "$storage_files/$storage_name.$gpuadm_end"
    rm -f "$storage_files/$storage_name.$gpuadm_end"
  done
  if [ -e "$storage_known/$storage_name.made" ]; then
    journal_file "$storage_known/$storage_name.made"
    rm -f "$storage_known/$storage_name.made"
  fi
  rm -f "$gpuadm_home/storage/$storage_name.changed"
}

# The data of gpuadm on the share. Nothing outside of the marker is deleted, and no other file system below it.
storage_purge_check() {
  [ "$storage_maker" = maker ] || return 0
  if storage_is_mounted_kind && ! storage_is_mounted; then return 0; fi
  if storage_do test -d "$storage_marker"; then storage_needed; fi
}
storage_purge() {
  [ "$storage_maker" = maker ] || return 0
  if storage_is_mounted_kind && ! storage_is_mounted; then return 0; fi
  [ ! -L "$storage_marker" ] || die "$storage_marker is a symbolic link: gpuadm does not delete what it points to"
  rm -rf --one-file-system -- "$storage_marker" || die "cannot delete $storage_marker"
}
