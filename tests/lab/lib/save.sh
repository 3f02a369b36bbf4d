# shellcheck shell=bash
# Saved hosts: the disk of a host that was shut down. `up NAME --from AS` boots a fork of it: the same host with the same name, address and
# machine id, as after a reboot.
#
# $LAB_CACHE/saved/AS/NAME: number, image and memory of the host, upper/ (its layer of the overlay; the fork's lower one), plain/ (copied)

SAVED_MOST=6 # how many AS are kept

lab_save() { # lab_save NAME AS
  local name=${1:-} as=${2:-} disk=$LAB_DATA/${1:-} dir file
  host_must_exist "$name"
  check_name "$as"
  [ ! -e "$disk/swapfile" ] || die "save: a host with swap cannot be saved"
  [[ $(host_read "$name" rootfs) != *:* ]] || die "save: '$name' is a fork"
  host_shut_down "$name"
  umount "$disk/root"
  dir=$LAB_CACHE/saved/$as/$name
  rm -rf "$dir" "$dir.new"
  mkdir -p "$dir.new"
  for file in number image memory rootfs; do cp "$LAB_RUN/hosts/$name/$file" "$dir.new/"; done
  cp -a "$disk/upper" "$disk/plain" "$dir.new/"
  mv "$dir.new" "$dir"
  saved_prune
}

# A clean shutdown, as `systemctl poweroff` on any host.
host_shut_down() { # host_shut_down NAME
  (lab_exec "$1" systemctl poweroff --no-wall)
  wait_until 300 "$1 to shut down" host_is_gone "$1" || die "$1 did not shut down"
  host_stop "$1"
  lab_link "$1" down
}

# The saved hosts that were not used for the longest time.
saved_prune() {
  local old
  while read -r old; do
    grep -q "[=:]$old/" /proc/mounts || rm -rf "$old"
  done < <(find "$LAB_CACHE/saved" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' | sort -rn | tail -n "+$((SAVED_MOST + 1))" | cut -d' ' -f2)
}

lab_saved() { # lab_saved NAME AS: whether that host is saved
  check_name "${1:-}"
  check_name "${2:-}"
  [ -e "$LAB_CACHE/saved/$2/$1/number" ]
}

host_fork() { # host_fork NAME AS: `up` for a saved host
  local name=$1 saved=$LAB_CACHE/saved/$2/$1 disk=$LAB_DATA/$1
  lab_saved "$name" "$2" || die "there is no '$name' saved as '$2'"
  touch "$LAB_CACHE/saved/$2" "$(<"$saved/rootfs")"
  lab_keys
  host_reserve "$name" "$(<"$saved/image")" "$(<"$saved/number")"
  mkdir -p "$disk/upper" "$disk/work" "$disk/root"
  cp -a "$saved/plain" "$disk/"
  printf '%s:%s\n' "$saved/upper" "$(<"$saved/rootfs")" >"$LAB_RUN/hosts/$name/rootfs"
  cp "$saved/memory" "$LAB_RUN/hosts/$name/"
  host_mount "$name"
  host_logins "$name"
}
