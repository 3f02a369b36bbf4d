# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the steps that mount storage and unmount it, loaded after storage.sh: clients, keys of CephFS, units, and folders of hosts.

# --- Clients -----------------------------------------------------------------------------------------

# storage_kernel_has TYPE: the kernel has the file system, or a module of it.
storage_kernel_has() { grep -qw "$1" /proc/filesystems || modprobe -n -q "$1" 2>/dev/null; }
# storage_ceph_type: the type of a CephFS mount here.
storage_ceph_type() { if storage_kernel_has ceph; then echo ceph; else echo fuse.ceph; fi; }

# storage_client_install PACKAGE PROGRAM: for Debian's family.
storage_client_install() {
  [ "${package_source:-}" = bundle ] || apt_update || : "what is known already may do"
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
  if storage_is_mounted && [ ! -e "$gpuadm_home/storage/$storage_name.changed" ] && unit_is_enabled "$(storage_unit)"; then return 0; fi
  storage_needed
}
storage_mount() {
  storage_is_mounted_kind || return 0
  gpuadm_unit=$(storage_unit)
  # A mount whose server does not answer must not be touched.
  if [ -z "$(storage_mount_line)" ] && [ ! -d "$storage_place" ]; then
    path_open "$storage_marker"
    journal_parents "$storage_marker"
    path_make_folder
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

# A local folder is made if it is missing; the folder of a share that the operator mounts must exist. Neither may be a user's.
storage_folder_check() {
  case $storage_kind in
    local) storage_hold || storage_needed ;;
    path)
      storage_hold || die "$storage_place of the storage $storage_name does not exist on this host: mount the share there, then run again"
      [ ! -e "$storage_known/$storage_name.made" ] || storage_exists "./gpuadm-$storage_name/id" || storage_die_unmounted
      ;;
  esac
}
storage_die_unmounted() {
  die "$storage_place had the folder gpuadm-$storage_name, and does not have it now: mount the share again; if its files are permanently gone, run rm $storage_known/$storage_name.made on this host, then run again"
}
storage_folder_put() {
  if [ "$storage_kind" != local ] || storage_hold; then return 0; fi
  path_open "$storage_marker"
  journal_parents "$storage_marker"
  path_make_folder
  storage_hold || die "$storage_place is not a folder"
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
      file_remove "$(storage_unit_path)"
      systemctl daemon-reload
    fi
    [ -z "$(storage_mount_line)" ] || limit_of 30 umount -l "$storage_place" || die "cannot unmount $storage_place"
    [ ! -d "$storage_place" ] || { journal_thing directory "$storage_place" && rmdir "$storage_place" 2>/dev/null; } || : "something is in it"
  fi
  for gpuadm_end in key keyring conf; do
    [ ! -e "$storage_files/$storage_name.$gpuadm_end" ] || file_remove "$storage_files/$storage_name.$gpuadm_end"
  done
  [ ! -e "$storage_known/$storage_name.made" ] || file_remove "$storage_known/$storage_name.made"
  rm -f "$gpuadm_home/storage/$storage_name.changed" "$storage_known/$storage_name.new"
}
