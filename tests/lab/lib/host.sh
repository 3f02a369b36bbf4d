# shellcheck shell=bash
# Hosts: made, booted, entered, broken and removed.
#
# $LAB_RUN/hosts/NAME   what is known of a host, one small file each: number image pid leader ...
# $LAB_DATA/NAME        its disk: the overlay's upper and work directories, and the plain directories that are
#                       bound over what cannot lie on an overlay

HOST_PLAIN_DIRECTORIES=(containerd kubelet etcd docker)

host_must_exist() { # host_must_exist NAME
  check_name "$1"
  [ -d "$LAB_RUN/hosts/$1" ] || die "no such host: '$1'"
}

host_read() { cat "$LAB_RUN/hosts/$1/$2"; }

host_names() {
  local dir
  for dir in "$LAB_RUN"/hosts/*/; do
    if [ -d "$dir" ]; then basename "$dir"; fi
  done
}

# Is the process that a host is made of still there, and still the one we started?
process_runs() { # process_runs PID_FILE
  local pid started now
  [ -s "$1" ] || return 1
  read -r pid started <"$1"
  now=$(process_start "$pid") && [ "$now" = "$started" ]
}

process_start() { # process_start PID
  local stat
  { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
  stat=${stat##*) }
  # shellcheck disable=SC2086 # to be split
  set -- $stat
  [ "$1" != Z ] && printf '%s\n' "${20}"
}

host_runs() { process_runs "$LAB_RUN/hosts/$1/leader" || host_has_rebooted "$1"; }

# A host that reboots by itself gets another first process from the same boot-again.
host_has_rebooted() { # host_has_rebooted NAME
  local run=$LAB_RUN/hosts/$1 pid
  process_runs "$run/nspawn" || return 1
  read -r pid _ <"$run/nspawn"
  pid=$(host_find_leader "$pid" print) || return 1
  [ -n "$pid" ] && printf '%s %s\n' "$pid" "$(process_start "$pid")" >"$run/leader"
}

host_leader() { # host_leader NAME
  local pid
  host_runs "$1" || die "the host '$1' is not running"
  read -r pid _ <"$LAB_RUN/hosts/$1/leader"
  printf '%s\n' "$pid"
}

# The keys and the password of this lab, made when first asked for.
lab_keys() (
  [ -e "$LAB_RUN/password" ] && exit 0
  [ "$(id -u)" = 0 ] || die "needs root"
  hold_lock "$LAB_RUN/lock" 60 "the lab's lock"
  [ -e "$LAB_RUN/password" ] && exit 0
  chmod 0700 "$LAB_RUN"
  touch "$LAB_RUN/known_hosts"
  rm -f "$LAB_RUN/id_ed25519" "$LAB_RUN/id_ed25519.pub"
  ssh-keygen -q -t ed25519 -N '' -C gpuadm-lab -f "$LAB_RUN/id_ed25519"
  (
    umask 077
    openssl rand -hex 12 >"$LAB_RUN/password.new"
  )
  mv "$LAB_RUN/password.new" "$LAB_RUN/password"
)

# --- making a host ---------------------------------------------------------------------------------------

lab_up() { # lab_up NAME [options]
  local name='' image='' gpu='' swap='' memory='' cri_disabled='' from='' root
  while [ $# -gt 0 ]; do
    case $1 in
      --image | --gpu | --memory | --from)
        [ $# -gt 1 ] || die "up: $1 needs a value"
        printf -v "${1#--}" '%s' "$2"
        shift
        ;;
      --swap) swap=1 ;;
      --cri-disabled) cri_disabled=1 ;;
      -*) die "up: no such option: $1" ;;
      *)
        [ -z "$name" ] || die "up: one host at a time"
        name=$1
        ;;
    esac
    shift
  done
  check_name "$name"
  lab_check
  if [ -n "$from" ]; then
    [ -z "$image$gpu$swap$memory$cri_disabled" ] || die "up: --from takes no other option"
    host_fork "$name" "$from"
    host_announce "$name"
    host_boot "$name"
    lab_address "$name"
    return
  fi
  [ -n "$image" ] || image=$(fitting_image containerd)
  root=$(lab_image "$image")
  lab_keys
  host_reserve "$name" "$image"
  host_disk "$name" "$root"
  host_identity "$name"
  host_modules "$name"
  host_runtime "$name" "$cri_disabled"
  [ -z "$gpu" ] || host_gpu "$name" "$gpu"
  printf '%s\n' "$memory" >"$LAB_RUN/hosts/$name/memory"
  [ -z "$swap" ] || swap_make "$name"
  host_announce "$name"
  host_boot "$name"
  lab_address "$name"
}

host_reserve() ( # host_reserve NAME IMAGE [NUMBER]
  local name=$1 dir=$LAB_RUN/hosts/$1 number=${3:-11} taken
  hold_lock "$LAB_RUN/lock" 60 "the lab's lock"
  [ ! -d "$dir" ] || die "there is a host '$name' already"
  [ "$(host_names | wc -l)" -lt 240 ] || die "the lab is full"
  taken=$(cat "$LAB_RUN"/hosts/*/number 2>/dev/null || true)
  while grep -qx "$number" <<<"$taken"; do
    [ -z "${3:-}" ] || die "the address of '$name' belongs to another host"
    number=$((number + 1))
  done
  mkdir -p "$dir"
  printf '%s\n' "$number" >"$dir/number"
  printf '%s\n' "$2" >"$dir/image"
  machine_remember
  network_up
  network_join "$name" "$number"
)

# The disk: an overlay on the image.
host_disk() { # host_disk NAME ROOT
  local name=$1 disk=$LAB_DATA/$1 plain
  mkdir -p "$disk/upper" "$disk/work" "$disk/root"
  for plain in "${HOST_PLAIN_DIRECTORIES[@]}"; do mkdir -p "$disk/plain/$plain"; done
  chmod 0711 "$disk"/plain/*
  chmod 0700 "$disk/plain/etcd" "$disk/plain/kubelet"
  printf '%s\n' "$2" >"$LAB_RUN/hosts/$name/rootfs"
  host_mount "$name"
  # What the packages of the image put below these directories belongs to the host as well.
  for plain in "${HOST_PLAIN_DIRECTORIES[@]}"; do
    if [ -d "$2/var/lib/$plain" ]; then cp -a "$2/var/lib/$plain/." "$disk/plain/$plain/"; fi
  done
}

# What modprobe reads: a kernel of a distribution lists the modules that are built into it. Taken from this kernel's
# configuration, for those that Kubernetes asks for.
host_modules() { # host_modules NAME
  local dir option path config
  dir=$LAB_DATA/$1/root/lib/modules/$(uname -r)
  [ -r /proc/config.gz ] && [ ! -d "$dir" ] || return 0
  mkdir -p "$dir"
  config=$(zcat /proc/config.gz)
  while read -r option path; do
    if grep -qx "CONFIG_$option=y" <<<"$config"; then printf 'kernel/%s.ko\n' "$path"; fi
  done >"$dir/modules.builtin" <<'E'
OVERLAY_FS fs/overlayfs/overlay
BRIDGE net/bridge/bridge
BRIDGE_NETFILTER net/bridge/br_netfilter
NF_CONNTRACK net/netfilter/nf_conntrack
NF_TABLES net/netfilter/nf_tables
IP_NF_IPTABLES net/ipv4/netfilter/ip_tables
NETFILTER_XT_MATCH_COMMENT net/netfilter/xt_comment
NETFILTER_XT_MATCH_CONNTRACK net/netfilter/xt_conntrack
NETFILTER_XT_MARK net/netfilter/xt_mark
NETFILTER_XT_TARGET_MASQUERADE net/netfilter/xt_MASQUERADE
IP_VS net/netfilter/ipvs/ip_vs
IP_VS_RR net/netfilter/ipvs/ip_vs_rr
IP_VS_WRR net/netfilter/ipvs/ip_vs_wrr
IP_VS_SH net/netfilter/ipvs/ip_vs_sh
VXLAN drivers/net/vxlan/vxlan
VETH drivers/net/veth
E
  : >"$dir/modules.order"
  : >"$dir/modules.builtin.modinfo"
  depmod -b "$LAB_DATA/$1/root" "$(uname -r)"
}

host_mount() { # host_mount NAME
  local disk=$LAB_DATA/$1
  mountpoint -q "$disk/root" && return 0
  mount -t overlay "lab-$1" \
    -o "lowerdir=$(host_read "$1" rootfs),upperdir=$disk/upper,workdir=$disk/work" "$disk/root"
}

# Name, machine id, host keys, who may log in.
host_identity() { # host_identity NAME
  local name=$1 root=$LAB_DATA/$1/root type
  printf '%s\n' "$name" >"$root/etc/hostname"
  tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
  printf '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"

  # mmdebstrap left its own preference there; apt refuses to install anything while it has no lists of that release.
  sed -i '/Default-Release/d' "$root"/etc/apt/apt.conf.d/*

  # CoreDNS does not start without a name server. This one refuses every question at once.
  ! bundle_has_dns || printf 'nameserver %s.1\n' "$LAB_NET" >"$root/etc/resolv.conf"

  for type in ed25519 ecdsa rsa; do
    ssh-keygen -q -t "$type" -N '' -C "root@$name" -f "$root/etc/ssh/ssh_host_${type}_key"
  done
  host_logins "$name"
}

# The lab knows the host's keys, and its users know the lab's key and password.
host_logins() { # host_logins NAME
  local name=$1 root=$LAB_DATA/$1/root address type key hash user home
  address=$(lab_address "$name")
  (
    hold_lock "$LAB_RUN/lock" 60 "the lab's lock"
    host_forget_keys "$name"
    for type in ed25519 ecdsa rsa; do
      key=$(cut -d' ' -f1,2 "$root/etc/ssh/ssh_host_${type}_key.pub")
      printf '%s,%s %s\n' "$name" "$address" "$key" >>"$LAB_RUN/known_hosts"
    done
  )

  for user in root gpu gpupw; do
    home=$(awk -F: -v user="$user" '$1 == user { print $6 }' "$root/etc/passwd")
    install -d -m 0700 "$root$home/.ssh"
    install -m 0600 "$LAB_RUN/id_ed25519.pub" "$root$home/.ssh/authorized_keys"
    chown -R "$(awk -F: -v user="$user" '$1 == user { print $3 ":" $4 }' "$root/etc/passwd")" "$root$home/.ssh"
  done
  hash=$(openssl passwd -6 -stdin <"$LAB_RUN/password")
  sed -i "s#^gpupw:[^:]*:#gpupw:$hash:#" "$root/etc/shadow"
}

host_forget_keys() { # host_forget_keys NAME
  sed -i "/^$1,/d" "$LAB_RUN/known_hosts"
}

# The lab's own settings, without which no container starts on a machine that lacks CAP_SYS_RESOURCE. gpuadm finds
# them on the host, as settings of others, and must keep them.
host_runtime() { # host_runtime NAME CRI_DISABLED
  local root=$LAB_DATA/$1/root config
  config=$root/etc/containerd/config.toml
  if [ -n "$2" ]; then
    # What Docker's own packages of containerd ship.
    printf 'disabled_plugins = ["cri"]\n' >"$config"
  elif [ -e "$config" ]; then
    sed -i '/^ *\[plugins."io.containerd.grpc.v1.cri"\]$/a\      restrict_oom_score_adj = true' "$config"
  fi
  if [ -x "$root/usr/sbin/dockerd" ]; then install -m 0755 "$LAB_HOME/image/runc" "$root/usr/local/sbin/runc"; fi
}

# Every host's /etc/hosts, and the client's, know every host. Lines are only added: the file is the host's.
host_announce() ( # host_announce NAME
  local name=$1 host
  hold_lock "$LAB_RUN/lock" 60 "the lab's lock"
  printf '%s %s\n' "$(lab_address "$name")" "$name" >>"/etc/netns/$LAB_NS/hosts"
  touch "$LAB_RUN/hosts/$name/announced"
  for host in $(host_names); do
    if [ -e "$LAB_RUN/hosts/$host/announced" ]; then hosts_complete "$LAB_DATA/$host/root/etc/hosts"; fi
  done
)

hosts_complete() { # hosts_complete FILE
  local line
  while read -r line; do
    grep -qxF "$line" "$1" || printf '%s\n' "$line" >>"$1"
  done <"/etc/netns/$LAB_NS/hosts"
}

# --- booting ---------------------------------------------------------------------------------------------

host_boot() { # host_boot NAME
  local name=$1 run=$LAB_RUN/hosts/$1 disk=$LAB_DATA/$1 pid leader options=() plain
  host_mount "$name"
  for plain in "${HOST_PLAIN_DIRECTORIES[@]}"; do options+=("--bind=$disk/plain/$plain:/var/lib/$plain"); done
  if [ -e "$disk/swapfile" ]; then options+=("--bind=$disk/swapfile:/swapfile"); fi
  host_cgroup "$name" "$(host_read "$name" memory)"
  SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes SYSTEMD_SECCOMP=0 SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=$(cgroup_unified "$disk/root") \
    setsid "$LAB_HOME/lib/in-cgroup" "$(cgroup_name "$name")" \
    "$LAB_HOME/lib/boot-again" systemd-nspawn --quiet --directory="$disk/root" --machine="$name" \
    --network-namespace-path="/run/netns/$LAB_NS-$name" --register=no --keep-unit --capability=all \
    --resolv-conf=off --timezone=off --link-journal=no --bind=/dev/kmsg "${options[@]}" \
    /usr/local/sbin/lab-init \
    </dev/null >"$run/console" 2>&1 &
  pid=$!
  printf '%s %s\n' "$pid" "$(process_start "$pid")" >"$run/nspawn"
  if ! wait_until 60 "the first process of $name" host_find_leader "$pid"; then
    tail -n 20 "$run/console" >&2
    die "$name did not start; all it said: $run/console"
  fi
  leader=$(host_find_leader "$pid" print)
  printf '%s %s\n' "$leader" "$(process_start "$leader")" >"$run/leader"
  swap_on "$name"
  if ! wait_until 180 "$name to answer on ssh and to have booted" host_is_up_or_dead "$name" || ! host_runs "$name"; then
    tail -n 20 "$run/console" >&2
    die "$name did not come up; all it said: $run/console"
  fi
}

# The host's process 1: the child of systemd-nspawn, which is a child of boot-again, that is the first in a process namespace of
# its own.
host_find_leader() { # host_find_leader BOOT_AGAIN_PID [print]
  local nspawn child
  nspawn=$(pgrep -P "$1" | paste -sd,)
  [ -n "$nspawn" ] || return 1
  for child in $(pgrep -P "$nspawn"); do
    if grep -qE '^NSpid:.*[[:space:]]1$' "/proc/$child/status" 2>/dev/null; then
      if [ -n "${2:-}" ]; then printf '%s\n' "$child"; fi
      return 0
    fi
  done
  return 1
}

host_is_up_or_dead() { # host_is_up_or_dead NAME
  local state
  host_runs "$1" || return 0
  state=$(timeout 10 "$LAB_HOME/lab" ssh "$1" systemctl is-system-running 2>/dev/null </dev/null) || true
  [ "$state" = running ] || [ "$state" = degraded ]
}

# A cgroup of its own for each host. Without it the kubelets of two hosts share one /kubepods and end each
# other's pods.
cgroup_name() { printf 'gpuadm-%s-%s\n' "$LAB_ID" "$1"; }

# systemd from 258 on knows cgroup v2 alone. Such a host gets that hierarchy, with the few controllers that a machine
# with cgroup v1 leaves to it: enough to boot and to serve, not for a kubelet.
cgroup_unified() { # cgroup_unified ROOT
  local version
  # shellcheck disable=SC2016 # dpkg-query's own notation
  version=$(chroot "$1" dpkg-query -W -f '${Version}' systemd)
  if [ "${version%%[.~-]*}" -ge 258 ]; then echo 1; else echo 0; fi
}

host_cgroup() { # host_cgroup NAME MEMORY
  local hierarchy dir
  for hierarchy in $(cgroup_hierarchies); do
    dir=$hierarchy/$(cgroup_name "$1")
    mkdir -p "$dir"
    if [ -e "$dir/cpuset.cpus" ]; then
      cat "$hierarchy/cpuset.cpus" >"$dir/cpuset.cpus"
      cat "$hierarchy/cpuset.mems" >"$dir/cpuset.mems"
    fi
    if [ -n "$2" ] && [ -e "$dir/memory.limit_in_bytes" ]; then printf '%s\n' "$2" >"$dir/memory.limit_in_bytes"; fi
  done
}

cgroup_remove() { # cgroup_remove NAME
  local hierarchy dir
  for hierarchy in $(cgroup_hierarchies); do
    dir=$hierarchy/$(cgroup_name "$1")
    [ -d "$dir" ] || continue
    wait_until 10 "the processes of $1 to leave $dir" cgroup_remove_tree "$dir" || true
  done
}

cgroup_remove_tree() { # cgroup_remove_tree DIR
  find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
  [ ! -d "$1" ]
}

# --- entering --------------------------------------------------------------------------------------------

lab_address() { # lab_address NAME
  host_must_exist "${1:-}"
  printf '%s.%s\n' "$LAB_NET" "$(host_read "$1" number)"
}

lab_list() {
  local name state
  for name in $(host_names); do
    state=off
    if host_runs "$name"; then state=running; fi
    printf '%s %s %s %s\n' "$name" "$(lab_address "$name")" "$(host_read "$name" image)" "$state"
  done
}

lab_ssh() { # lab_ssh NAME [COMMAND...]
  local name=${1:-} address
  address=$(lab_address "$name")
  shift
  exec ip netns exec "$LAB_NS" ssh -F /dev/null -i "$LAB_RUN/id_ed25519" -o IdentitiesOnly=yes -o LogLevel=ERROR \
    -o UserKnownHostsFile="$LAB_RUN/known_hosts" -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes \
    -o ConnectTimeout=10 -o GSSAPIAuthentication=no "root@$address" "$@"
}

lab_exec() { # lab_exec NAME COMMAND...
  local name=${1:-} leader
  host_must_exist "$name"
  leader=$(host_leader "$name")
  shift
  [ $# -gt 0 ] || die "exec: which command?"
  exec nsenter --target "$leader" --mount --uts --ipc --net --pid --cgroup --root --wd -- \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    TERM="${TERM:-dumb}" "$@"
}

# As a kubelet does, from outside of the host: its socket is seen through its first process.
lab_cri() { # lab_cri NAME HANDLER IMAGE [ARGUMENT...]
  local name=${1:-} leader
  host_must_exist "$name"
  leader=$(host_leader "$name")
  shift
  exec "$LAB_HOME/lib/cri-run" "/proc/$leader/root/run/containerd/containerd.sock" "$@"
}

# --- breaking --------------------------------------------------------------------------------------------

# Ends every process that serves a connection, and leaves the one that listens.
lab_cut() { # lab_cut NAME
  # shellcheck disable=SC2016 # expanded on the host
  (lab_exec "${1:-}" sh -c '
    listener=$(systemctl show --property=MainPID --value ssh.service)
    for pid in $(pgrep "^sshd"); do
      [ "$pid" = "$listener" ] || kill -KILL "$pid" 2>/dev/null || true
    done')
}

lab_kill() { # lab_kill NAME
  host_must_exist "${1:-}"
  host_stop "$1"
  lab_link "$1" down # else its kernel, which is everybody's, keeps answering for its address
}

# Killing process 1 of the host ends all of its processes, as a power cut does.
host_stop() { # host_stop NAME
  local run=$LAB_RUN/hosts/$1 pid
  if host_runs "$1"; then
    read -r pid _ <"$run/leader"
    kill -KILL "$pid" 2>/dev/null || true
    wait_until 60 "the processes of $1 to end" host_is_gone "$1"
  fi
  if process_runs "$run/nspawn"; then
    read -r pid _ <"$run/nspawn"
    wait_until 5 "systemd-nspawn of $1 to end" host_nspawn_is_gone "$1" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || true
  fi
  swap_off "$1"
  rm -f "$run/leader" "$run/nspawn"
}

host_is_gone() { ! process_runs "$LAB_RUN/hosts/$1/leader"; }
host_nspawn_is_gone() { ! process_runs "$LAB_RUN/hosts/$1/nspawn"; }

lab_start() { # lab_start NAME
  host_must_exist "${1:-}"
  ! host_runs "$1" || die "the host '$1' runs"
  # State in memory is lost: the links, routes and packet filter of before.
  network_leave "$1"
  network_join "$1" "$(host_read "$1" number)"
  host_boot "$1"
}

lab_reboot() { # lab_reboot NAME
  lab_kill "${1:-}"
  lab_start "$1"
}

# --- removing --------------------------------------------------------------------------------------------

lab_down() { # lab_down NAME... | --all
  local name names=()
  [ $# -gt 0 ] || die "down: which host? (or --all)"
  [ -d "$LAB_RUN" ] || [ -d "$LAB_DATA" ] || [ -e "/run/netns/$LAB_NS" ] || return 0
  if [ "$1" = --all ]; then
    mapfile -t names < <({ host_names; ls -- "$LAB_DATA" 2>/dev/null || true; } | sort -u)
  else
    names=("$@")
  fi
  for name in "${names[@]}"; do
    check_name "$name"
    host_remove "$name"
  done
  if [ "$1" = --all ]; then
    network_down
    machine_restore
    rm -rf "$LAB_RUN"
    rmdir "$LAB_DATA" "$(dirname "$LAB_RUN")" 2>/dev/null || true
  fi
}

host_remove() { # host_remove NAME
  local name=$1 disk=$LAB_DATA/$1 number
  host_stop "$name"
  host_kill_stragglers "$name"
  number=$(cat "$LAB_RUN/hosts/$name/number" 2>/dev/null || true)
  if [ -n "$number" ]; then ip -n "$LAB_NS" link del "host$number" 2>/dev/null || true; fi
  network_leave "$name"
  cgroup_remove "$name"
  if mountpoint -q "$disk/root"; then umount "$disk/root" || umount --lazy "$disk/root"; fi
  rm -rf "$disk"
  if [ -e "$LAB_RUN/known_hosts" ]; then host_forget_keys "$name"; fi
  if [ -e "/etc/netns/$LAB_NS/hosts" ]; then sed -i "/ $name\$/d" "/etc/netns/$LAB_NS/hosts"; fi
  rm -rf "$LAB_RUN/hosts/$name"
}

# After a crash nothing may be known of a host's processes but the namespace that they are in.
host_kill_stragglers() { # host_kill_stragglers NAME
  local pid ns=$LAB_NS-$1
  [ -e "/run/netns/$ns" ] || return 0
  for pid in $(ip netns pids "$ns"); do kill -KILL "$pid" 2>/dev/null || true; done
  wait_until 10 "the last processes of $1 to end" network_is_empty "$ns"
}

network_is_empty() { [ -z "$(ip netns pids "$1")" ]; }

# --- this machine ----------------------------------------------------------------------------------------

# Kernel settings that are the whole machine's, and that a kubelet or systemd-sysctl in a host changes.
MACHINE_SETTINGS=(vm/overcommit_memory vm/panic_on_oom vm/swappiness vm/max_map_count kernel/panic kernel/panic_on_oops
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes kernel/sysrq kernel/core_uses_pid kernel/core_pattern
  kernel/pid_max kernel/printk fs/protected_hardlinks fs/protected_symlinks fs/protected_regular fs/protected_fifos
  fs/inotify/max_user_instances fs/inotify/max_user_watches)

machine_remember() {
  local setting
  [ -e "$LAB_RUN/machine" ] && return 0
  for setting in "${MACHINE_SETTINGS[@]}"; do
    if [ -r "/proc/sys/$setting" ]; then printf '%s %s\n' "$setting" "$(cat "/proc/sys/$setting")"; fi
  done >"$LAB_RUN/machine"
}

machine_restore() {
  local setting value
  [ -e "$LAB_RUN/machine" ] || return 0
  while read -r setting value; do
    [ "$(cat "/proc/sys/$setting")" = "$value" ] || printf '%s\n' "$value" >"/proc/sys/$setting" || true
  done <"$LAB_RUN/machine"
}

# A recorded nvidia-smi in place of a GPU.
host_gpu() { # host_gpu NAME KIND
  local root=$LAB_DATA/$1/root share
  share=$root/usr/local/share/nvidia-smi-double
  mkdir -p "$share"
  install -m 0644 "$LAB_HOME/gpu-double/$2"/* "$LAB_HOME/gpu-double/help-query-gpu.txt" "$LAB_HOME/gpu-double/gpu-reset.txt" "$share/"
  install -m 0755 "$LAB_HOME/gpu-double/nvidia-smi" "$root/usr/bin/nvidia-smi"
}

# --- swap ------------------------------------------------------------------------------------------------

# A real swap file, small, in /etc/fstab as on any host. The kernel has one list of swap for all hosts; those
# without are shown an empty one (see image/lab-init), and only one host at a time may have it.
swap_make() { # swap_make NAME
  local disk=$LAB_DATA/$1
  ! compgen -G "$LAB_CACHE/hosts/*/*/swapfile" >/dev/null || die "another host has swap; one at a time"
  truncate -s 0 "$disk/swapfile"
  chmod 0600 "$disk/swapfile"
  dd if=/dev/zero of="$disk/swapfile" bs=1M count=64 status=none
  mkswap "$disk/swapfile" >/dev/null
  printf '/swapfile none swap sw 0 0\n' >>"$disk/root/etc/fstab"
  : >"$disk/root/etc/lab-swap"
}

# At boot, as long as /etc/fstab says so.
swap_on() { # swap_on NAME
  [ -e "$LAB_DATA/$1/swapfile" ] || return 0
  grep -q '^/swapfile' "$LAB_DATA/$1/root/etc/fstab" || return 0
  wait_until 20 "the swap file of $1 to be there" swap_is_bound "$1"
  (lab_exec "$1" swapon /swapfile)
}

swap_is_bound() { (lab_exec "$1" test -s /swapfile) 2>/dev/null; }

swap_off() { # swap_off NAME
  if [ -e "$LAB_DATA/$1/swapfile" ]; then swapoff "$LAB_DATA/$1/swapfile" 2>/dev/null || true; fi
}
