#!/bin/sh
# Reads the facts of one host and changes nothing, in one round trip and without arguments. The output is described in
# docs/reference/probe.md. Only awk is required. Variables: purpose=status also queries the health of the control plane's components
# and, on hosts without an NVIDIA device, omits what status does not show; purpose=fast reads only what changes by itself, such as the
# state of GPUs, with few programs, and purpose=slow everything else: both together are the whole output, for runs that repeat often.
# reasons=yes also collects why something on a node does not run (reasons.sh). storages: lines of name and folder of the cluster's storage.

# shellcheck source=playbooks/frame.sh
[ "${frame_is_here:-}" = yes ] || . "$(dirname "$0")/frame.sh"
# shellcheck source=playbooks/processes.sh
[ "${processes_is_here:-}" = yes ] || . "$(dirname "$0")/processes.sh"
# shellcheck source=playbooks/reasons.sh
[ "${reasons:-}" != yes ] || [ "${reasons_are_here:-}" = yes ] || . "$(dirname "$0")/reasons.sh"

# --- Helpers ---------------------------------------------------------------------------------------

# Prints files. Arguments: a path is a separate section; "=name" starts a table of "path value" lines (the first line of each file),
# "=" ends it; "~regex" keeps only the matching lines, "~" keeps all lines again. Unreadable files are omitted.
# shellcheck disable=SC2016
FILES='
function clean(s) {
  if (length(s) > 8000) s = substr(s, 1, 8000)
  if (mask) {
    gsub(/:\/\/[^\/@ ]*@/, "://***@", s)
    gsub(/pass(word|wd)?=[^, ]+/, "password=***", s)
  }
  return s
}
function label(path) {
  if (sub(/^\/proc\/sys\//, "", path)) gsub(/\//, ".", path)
  return path
}
function whole(path,    text, got, used) {
  got = (getline text < path)
  if (got < 0) return
  print "=== " path
  for (; got > 0; got = (getline text < path)) {
    if (only != "" && text !~ only) continue
    text = clean(text)
    used += length(text) + 3
    if (used > 131072) { print "! cut"; break }
    print "| " text
  }
  close(path)
}
function cell(path,    text, got) {
  got = (getline text < path)
  if (got > 0 && text ~ /^entries /) got = (getline text < path)
  if (got > 0 && (only == "" || text ~ only) && cells < 131072) {
    text = "| " label(path) " " clean(text)
    cells += length(text)
    print text
  }
  close(path)
}
BEGIN {
  for (i = 1; i < ARGC; i++) {
    a = ARGV[i]
    if (a ~ /[[:cntrl:]]/) continue
    kind = substr(a, 1, 1)
    if (kind == "=") { table = substr(a, 2); cells = 0; if (table != "") print "=== " table }
    else if (kind == "~") { only = substr(a, 2); mask = only != "" }
    else if (table != "") cell(a)
    else whole(a)
  }
  print "=== environment"
  mask = 1
  split("http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY", names, " ")
  for (i = 1; i <= 8; i++)
    if (names[i] in ENVIRON) {
      text = ENVIRON[names[i]]
      gsub(/[[:cntrl:]]/, " ", text)
      print "| " names[i] "=" clean(text)
    }
}'

# listing DIRECTORY…: a section "DIRECTORY/" with one name per line, for each folder that exists.
listing() {
  for directory in "$@"; do
    [ -d "$directory" ] || continue
    section "$directory/"
    for entry in "$directory"/*; do
      [ -e "$entry" ] && line "${entry##*/}"
    done
  done
}

# listing_of NAME PATH…: a section with the paths that exist.
listing_of() {
  section "$1"
  shift
  for entry in "$@"; do
    [ -e "$entry" ] && line "$entry"
  done
}

# --- Files -----------------------------------------------------------------------------------------

MODULES='overlay|br_netfilter|bridge|nf_conntrack|nf_tables|ip_tables|vxlan|geneve|ip_vs|ip_vs_rr|ip_vs_wrr|ip_vs_sh|xt_comment|xt_conntrack|xt_mark|xt_MASQUERADE|zram|nvidia|nvidia-uvm|nvidia-modeset|nvidia-drm|nvidia-peermem|nvidia-fs|gdrdrv|ib_core|ib_uverbs|ib_umad|mlx5_core|dm-thin-pool|nouveau|nova_core|nova_drm|nvidiafb|xt_addrtype|xt_multiport|xt_statistic|xt_nat|xt_set|ip_set|nft_chain_nat|nft_compat|nft_ct|nft_masq|nft_numgen|nft_fib|zfs'
CONFIG='NAMESPACES|NET_NS|PID_NS|IPC_NS|UTS_NS|CGROUPS|CGROUP_BPF|CGROUP_PIDS|CGROUP_SCHED|CGROUP_HUGETLB|CPUSETS|MEMCG|INET|EXT4_FS|PROC_FS|NETFILTER_XT_TARGET_REDIRECT|NETFILTER_XT_MATCH_COMMENT|FAIR_GROUP_SCHED|OVERLAY_FS|CFS_BANDWIDTH|SECCOMP|SECCOMP_FILTER|BRIDGE_NETFILTER|VXLAN|NF_CONNTRACK|MODULES'
MOUNTS='^[^ ]+ (/|/boot|/tmp|/run|/opt(/cni(/bin)?)?|/usr|/usr/local/nvidia|/var|/var/lib|/var/lib/(kubelet|containerd|docker|etcd)|/srv/gpuadm/[^/ ]+|/sys/fs/cgroup(/[^/ ]*)?) |^(/dev/|[^ ]+:)[^ ]* /[^/ ]+(/[^/ ]+)?(/[^/ ]+)? '

files() {
  set -- /etc/os-release
  [ -e /etc/os-release ] || set -- /usr/lib/os-release
  set -- "$@" /proc/sys/kernel/osrelease /proc/sys/kernel/hostname /proc/1/comm /etc/machine-id \
    /etc/kubernetes/pki/ca.crt /sys/class/dmi/id/product_uuid /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name \
    '~^(Uid|Umask|Cpus_allowed_list):' /proc/self/status \
    '~^(MemTotal|MemAvailable|SwapTotal|SwapFree|HugePages_Total|Hugepagesize):' /proc/meminfo \
    '~^[[:space:]]*[^#[:space:]]' /etc/fstab \
    "~$MOUNTS" /proc/mounts \
    '~^[0-9]+ [0-9]+ [^ ]+ [^ ]+ /(var|var/lib|var/lib/kubelet)? ' /proc/self/mountinfo \
    "~[/]($MODULES)\\.ko" "/lib/modules/$release/modules.builtin" \
    "~^[^:]*/($MODULES)\\.ko[^:]*:" "/lib/modules/$release/modules.dep" \
    "~^CONFIG_($CONFIG)=" "/boot/config-$release" \
    '~^(nodev)?[[:space:]]overlay$' /proc/filesystems \
    '~^(ENABLED|IPV6)=' /etc/ufw/ufw.conf '~^DEFAULT_FORWARD_POLICY=' /etc/default/ufw \
    '~[pP][rR][oO][xX][yY]' /etc/environment \
    '~^ *(blacklist|devnode)' /etc/multipath.conf '~^InitiatorName=' /etc/iscsi/initiatorname.iscsi \
    '~^( *server|current-context):' /etc/kubernetes/admin.conf /etc/kubernetes/kubelet.conf \
    '~^(cluster[[:space:]]kubeadm|file[[:space:]]/etc/cni/[^[:space:]]*)[[:space:]]absent' /var/lib/gpuadm/journal/log
  for file in /etc/NetworkManager/conf.d/*.conf /usr/lib/NetworkManager/conf.d/*.conf; do
    [ -e "$file" ] && set -- "$@" '~^unmanaged-devices' "$file"
  done
  for file in /etc/systemd/networkd.conf /etc/systemd/networkd.conf.d/*.conf; do
    [ -e "$file" ] && set -- "$@" '~^ManageForeign' "$file"
  done
  set -- "$@" '~^(deb|Types|URIs|Suites|Signed-By|baseurl|enabled|\[).*' /etc/apt/sources.list
  for file in /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources /etc/yum.repos.d/*.repo; do
    case ${file##*/} in debian.* | ubuntu.* | '*'*) ;;
      *) set -- "$@" '~^(deb|Types|URIs|Suites|Signed-By|baseurl|enabled|\[).*' "$file" ;; esac
  done
  for file in /etc/systemd/system/containerd.service.d/*.conf /etc/systemd/system/docker.service.d/*.conf; do
    [ -e "$file" ] && set -- "$@" '~[pP][rR][oO][xX][yY]' "$file"
  done
  # JSON may be one line: all of it is read then.
  for file in /etc/cdi/*.yaml /run/cdi/*.yaml; do
    [ -f "$file" ] && set -- "$@" '~^kind:|^cdiVersion:|^ *-? *name: |hostPath: .*/lib(cuda|nvidia-ml)[.]so[.][0-9]|hookName: |^ *-? *path: /.*(nvidia|hook)' "$file"
  done
  for file in /etc/cdi/*.json /run/cdi/*.json; do
    [ -f "$file" ] && set -- "$@" '~.' "$file"
  done
  set -- "$@" '~.' /proc/cmdline '~' /proc/loadavg /proc/buddyinfo /proc/swaps /proc/modules /proc/cgroups \
    /sys/fs/cgroup/cgroup.controllers \
    /proc/net/ip_tables_names /proc/net/ip6_tables_names \
    /etc/resolv.conf /run/systemd/resolve/resolv.conf /sys/fs/selinux/enforce \
    /sys/module/apparmor/parameters/enabled /sys/kernel/security/lockdown \
    /etc/containerd/config.toml /etc/docker/daemon.json /etc/crictl.yaml \
    /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet /etc/sysconfig/kubelet \
    /var/lib/kubelet/cpu_manager_state /var/lib/kubelet/memory_manager_state /etc/crio/crio.conf \
    /etc/nvidia-container-runtime/config.toml /etc/gpuadm/quarantine \
    /run/systemd/container /proc/driver/nvidia/version /sys/module/nvidia/version /sys/module/nvidia/refcnt \
    /proc/uptime /proc/version /sys/devices/system/node/online \
    '~^[A-Z_]+=' /usr/share/nvidia/nvswitch/fabricmanager.cfg '~'
  for file in /etc/containerd/conf.d/*.toml /etc/containerd/config.d/*.toml /etc/crio/crio.conf.d/* \
    /etc/systemd/system/kubelet.service.d/*.conf /usr/lib/systemd/system/kubelet.service.d/*.conf \
    /etc/systemd/zram-generator.conf /usr/lib/systemd/zram-generator.conf /var/lib/gpuadm/lock/*; do
    [ -f "$file" ] && set -- "$@" "$file"
  done
  for file in $(containerd_imports); do
    case $file in
      /etc/containerd/conf.d/*.toml | /etc/containerd/config.d/*.toml) ;;
      *) set -- "$@" "$file" ;;
    esac
  done
  for file in /etc/ld.so.conf.d/*.conf; do
    case $file in *cuda* | *nvidia*) set -- "$@" '~^ *[/]' "$file" '~' ;; esac
  done
  for driver in nvidia nouveau nova blacklist; do
    for file in /etc/modprobe.d/*"$driver"*.conf /usr/lib/modprobe.d/*"$driver"*.conf; do
      [ -f "$file" ] && set -- "$@" '~^(blacklist|options|install)' "$file" '~'
    done
  done
  set -- "$@" =sysctl
  for key in net/ipv4/ip_forward net/ipv6/conf/default/forwarding net/ipv6/conf/all/forwarding \
    net/ipv6/conf/all/disable_ipv6 net/bridge/bridge-nf-call-iptables net/bridge/bridge-nf-call-ip6tables \
    net/ipv4/conf/all/rp_filter net/ipv4/conf/default/rp_filter net/netfilter/nf_conntrack_max \
    fs/inotify/max_user_instances fs/inotify/max_user_watches fs/file-max kernel/pid_max vm/max_map_count \
    vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
    kernel/keys/root_maxkeys kernel/keys/root_maxbytes vm/swappiness \
    fs/file-nr net/netfilter/nf_conntrack_count net/ipv4/neigh/default/gc_thresh3 kernel/numa_balancing; do
    set -- "$@" "/proc/sys/$key"
  done
  # Only files that can be read once they are open, because some awks exit on a read error.
  set -- "$@" =sysfs /proc/net/stat/arp_cache \
    /sys/devices/system/clocksource/clocksource0/current_clocksource \
    /sys/devices/system/cpu/cpufreq/policy0/scaling_governor \
    /sys/devices/system/edac/mc/mc*/[cu]e_count /sys/kernel/mm/hugepages/hugepages-*/nr_hugepages \
    /sys/module/mlx5_core/version /sys/module/nvidia_fs/version /sys/module/zfs/version \
    /sys/class/nvme/nvme*/state /sys/block/dm-*/dm/name /sys/block/md*/md/degraded /sys/block/md*/md/array_state
  for disk in /sys/block/*; do
    case ${disk##*/} in loop* | ram* | zram* | sr* | nbd* | rbd* | '*') ;;
      *) set -- "$@" "$disk/queue/rotational" ;; esac
  done
  set -- "$@" /sys/class/infiniband_verbs/uverbs*/ibdev
  limit 10 awk "$FILES" "$@" '='
}

LOG='NVRM|nvidia|SXid|AER: |PCIe Bus Error|BAR [0-9].*(no space|failed|can.t assign|: assigned)|Out of memory|invoked oom|oom-kill|blocked for more than|soft lockup|hard LOCKUP|rcu.*stall|segfault.*lib(nccl|cuda|nvidia)|I/O error|EXT4-fs error|XFS .*error|Hardware Error|EDAC|NETDEV WATCHDOG|unregister_netdevice: waiting|nvme.*(timeout, |removing after)|md.raid.*failure|emounting filesystem read-only|XFS .*orruption|mlx5.*(power|emperature)|is rejected|Key was rejected|trusted key|[Ll]ockdown: |apparmor=.DENIED|overlayfs: |nf_conntrack: |IPVS: .*(full|rror)|ENOSPC|[Uu]nknown symbol|disagrees about version|version magic|xec format error|firmware load|rejected by pids'

kernel_config() {
  [ -r "/boot/config-$release" ] && return
  [ -r /proc/config.gz ] || return
  { gzip -dc /proc/config.gz 2>/dev/null | awk -v re="^CONFIG_($CONFIG)=" '$0 ~ re'; echo; echo 0; } |
    framed /proc/config.gz
}

# --- Hardware and folders --------------------------------------------------------------------------

# kinds PATH…: "kind path" of the paths that exist.
kinds() {
  section paths
  for path in "$@"; do
    if [ -S "$path" ]; then
      line socket "$path"
    elif [ -d "$path" ]; then
      line directory "$path"
    elif [ -c "$path" ]; then
      line device "$path"
    elif [ -e "$path" ]; then
      line file "$path"
    fi
  done
}

paths() {
  kinds /run/containerd/containerd.sock /run/crio/crio.sock /run/cri-dockerd.sock /run/docker.sock /run/docker.pid \
    /etc/kubernetes/admin.conf /etc/kubernetes/kubelet.conf /etc/kubernetes/bootstrap-kubelet.conf \
    /etc/kubernetes/pki/ca.crt /etc/kubernetes/gpuadm/cluster.yaml /var/lib/kubelet/config.yaml /var/lib/kubelet/pki/kubelet-client-current.pem \
    /var/lib/kubelet/pki/kubelet-server-current.pem /var/lib/kubelet/pod-resources/kubelet.sock \
    /usr/share/containers/oci/hooks.d/oci-nvidia-hook.json /run/reboot-required /run/ostree-booted \
    /run/systemd/timesync/synchronized /run/systemd/container /.dockerenv /run/.containerenv \
    /var/lib/gpuadm/lock /var/lib/gpuadm/joining /var/lib/gpuadm/cluster /sys/fs/cgroup/cgroup.controllers /sys/fs/cgroup/unified \
    /proc/sys/net/bridge /lib/modules /lib/modules/"$release" /lib/modules/"$release"/build \
    /usr/bin/nvidia-uninstall /usr/bin/gcc-[0-9]* /var/lib/nvidia-docker /run/nvidia/driver /dev/dxg /etc/nv_tegra_release \
    /etc/cdi /run/cdi /etc/cdi/nvidia.yaml /run/cdi/nvidia.yaml /etc/nvidia-container-runtime/config.toml /dev/nvidia* \
    /dev/nvidia-caps-imex-channels/channel0 /lib/firmware/nvidia/*/gsp_*.bin /etc/apt/preferences.d/*nvidia* \
    /var/lib/dkms/nvidia*/* /var/lib/dkms/nvidia*/*/"$release" /opt/nvidia/nvlsm \
    /usr/local/nvidia/toolkit /usr/local/nvidia/toolkit/nvidia-container-runtime /usr/lib/wsl/lib/libcuda.so.1 /usr/lib/wsl/lib/nvidia-smi \
    /run/nvidia/mps /etc/crio/conf.d/*.toml /etc/crio/conf.d/*.conf /run/k3s/containerd/containerd.sock /var/lib/rancher/k3s /var/lib/rancher/rke2 \
    /var/lib/k0s /var/snap/microk8s/current /var/snap/docker/current /usr/bin/nvidia-cdi-hook /usr/bin/nvidia-ctk \
    /dev/infiniband/* /dev/gdrdrv /run/mellanox/drivers/.driver-ready /sys/class/iommu/*
  section tools
  # One process for each would cost more than the rest of this function.
  (
    IFS=:
    for tool in awk sed grep tr cut od cat sh sudo timeout mktemp sha256sum base64 tar gzip zstd curl gpg \
      systemctl modprobe sysctl swapoff ip ss iptables ip6tables nft mount umount nsenter conntrack ebtables ethtool socat \
      tc touch apt-get dpkg dnf yum zypper rpm containerd ctr runc crun nerdctl dockerd docker crio cri-dockerd crictl \
      kubeadm kubelet kubectl nvidia-smi nvidia-ctk nvidia-container-runtime nvidia-container-cli nvidia-persistenced \
      nvidia-modprobe nv-fabricmanager dkms gcc make ld dcgmi mokutil getenforce \
      apparmor_parser mount.nfs mount.ceph ceph-fuse iscsiadm ipset smartctl stat getent systemd-detect-virt lspci modinfo chronyc openssl; do
      for directory in $PATH; do
        case $directory in '' | *"$newline"*) continue ;; esac
        if [ -x "$directory/$tool" ] && [ ! -d "$directory/$tool" ]; then
          printf '| %s %s\n' "$tool" "$directory/$tool"
          break
        fi
      done
    done
  )
  # systemd resolves the devices that a container may use through these links.
  [ -e /dev/nvidiactl ] && listing_of dev-char /dev/char/195:*
  section /sys/module/
  (
    IFS='|'
    for module in $MODULES; do
      case $module in *-*) module=${module%%-*}_${module#*-} ;; esac
      [ -d "/sys/module/$module" ] && line "$module"
    done
  )
  listing /etc/kubernetes/manifests /etc/kubernetes/pki /var/lib/kubelet/device-plugins /var/lib/etcd /etc/cni/net.d \
    /opt/cni/bin /usr/lib/cni /usr/libexec/cni /etc/containerd/certs.d /var/lib/gpuadm /sys/fs/cgroup /sys/fs/pstore /var/lib/systemd/pstore
}

# values PATH…: a "path value" line for each of these short files; reading a device attribute may fail.
values() {
  for path in "$@"; do
    { read -r value <"$path"; } 2>/dev/null && line "$path" "$value"
  done
}

links() {
  section links
  for link in /sys/class/net/*; do
    address='' mtu='' state='' physical=no
    {
      read -r address <"$link/address"
      read -r mtu <"$link/mtu"
      read -r state <"$link/operstate"
    } 2>/dev/null
    [ -e "$link/device" ] && physical=yes
    line "${link##*/} address=$address mtu=$mtu state=$state physical=$physical"
  done
  section link-values
  for link in /sys/class/net/*; do
    { [ -e "$link/device" ] && [ ! -e "$link/device/physfn" ]; } || continue
    values "$link/speed" "$link/duplex" "$link/carrier_changes" \
      "$link/statistics/rx_packets" "$link/statistics/tx_packets" "$link/statistics/rx_errors" "$link/statistics/tx_errors"
  done
}

rdma() {
  [ -d /sys/class/infiniband ] || return
  section rdma
  for device in /sys/class/infiniband/*; do
    [ -d "$device" ] || continue
    values "$device/fw_ver"
    for port in "$device"/ports/*; do
      values "$port/state" "$port/phys_state" "$port/rate" "$port/link_layer" "$port/gid_attrs/ndevs/0" \
        "$port/counters/link_downed" "$port/counters/symbol_error" "$port/counters/port_rcv_errors" \
        "$port/counters/link_error_recovery" "$port"/gid_attrs/types/[0-7]
    done
  done
}

# The totals of a device's counters of PCI Express errors, as " aer=correctable:nonfatal:fatal".
aer_totals() {
  for kind in correctable nonfatal fatal; do
    [ -r "$1/aer_dev_$kind" ] || return
    while read -r key number; do
      case $key in TOTAL_*) aer=${aer:+$aer:}$number ;; esac
    done <"$1/aer_dev_$kind"
  done
  aer=" aer=$aer"
}

# Every PCI function of vendor 10de (NVIDIA) and 15b3 (Mellanox); the reader decides which of them are GPUs.
pci() {
  section pci
  for device in /sys/bus/pci/devices/*; do
    vendor=''
    { read -r vendor <"$device/vendor"; } 2>/dev/null
    case $vendor in 0x10de | 0x15b3) ;; *) continue ;; esac
    class='' id='' subvendor='' subdevice='' numa='' driver='' iommu='' aer=''
    {
      read -r class <"$device/class"
      read -r id <"$device/device"
      read -r subvendor <"$device/subsystem_vendor"
      read -r subdevice <"$device/subsystem_device"
      read -r numa <"$device/numa_node"
      read -r iommu <"$device/iommu_group/type"
    } 2>/dev/null
    slot=${device##*/}
    for bound in /sys/bus/pci/drivers/*/"$slot"; do
      [ -e "$bound" ] || continue
      driver=${bound%/*}
      driver=${driver##*/}
    done
    # Its position: the bridges above it are part of the path.
    cd -P "$device" 2>/dev/null && place=${PWD#/sys/devices/} && cd / || place=
    aer_totals "$device"
    line "$slot class=${class#0x} vendor=${vendor#0x} device=${id#0x} subsystem=${subvendor#0x}:${subdevice#0x}" \
      "driver=$driver numa=$numa iommu=$iommu place=$place$aer"
  done
}

# Folders to which root writes and from which root runs programs: who else can write to them.
folders() {
  set --
  for folder in / /etc /etc/cni /etc/cni/net.d /etc/containerd /etc/crio /etc/docker /etc/kubernetes /etc/modules-load.d /etc/sysctl.d \
    /etc/systemd /etc/systemd/system /opt /opt/cni /opt/cni/bin /usr /usr/bin /usr/local /usr/local/bin /var /var/lib /var/lib/gpuadm \
    /var/lib/kubelet; do
    [ -d "$folder" ] && set -- "$@" "$folder"
  done
  quiet folders 5 stat -L -c '%a %U %G %n' "$@"
}

# The folders of images that containerd and Docker are configured with.
image_folders() {
  sed -n 's|^root *= *"\(/[^" *?]*\)" *$|\1|p' /etc/containerd/config.toml
  sed -n 's|.*"data-root" *: *"\(/[^" *?]*\)".*|\1|p' /etc/docker/daemon.json
}

# Who could replace the files of claims: the folders above those of $storages, and the folders in them to which only root may write.
# shellcheck disable=SC2016 # of the inner shell
STORAGE_FOLDERS='
printf "%s" "$1" | while read -r name at; do
  real=$(readlink -f "$at")
  for path in "$at" "$real"; do
    while [ -n "$path" ]; do
      [ ! -e "$path" ] || stat -c "%A %u %g %n" "$path"
      path=${path%/*}
    done
    [ "$at" != "$real" ] || break
  done
  marker=$at/gpuadm-$name
  set --
  for path in "$marker" "$marker/claims" "$marker/volumes" "$marker"/claims/* "$marker"/claims/*/*; do
    [ ! -e "$path" ] && [ ! -L "$path" ] || set -- "$@" "$path"
  done
  [ $# = 0 ] || stat -c "%A %u %g %n" "$@" || exit
done'
storage_folders() {
  [ -n "${storages:-}" ] || return 0
  {
    limit 10 sh -c "$STORAGE_FOLDERS" sh "$storages" 2>/dev/null
    printf '\n%s\n' "$?"
  } | framed storage-folders max=4194304
}

disks() {
  set --
  for path in / /boot /tmp /var /var/lib /var/lib/kubelet /var/lib/containerd /var/lib/containers /var/lib/docker /var/lib/etcd $(image_folders 2>/dev/null); do
    [ -d "$path" ] && set -- "$@" "$path"
  done
  if has stat; then
    quiet disks 5 stat -f -c '%n type=%T block=%S blocks=%b free=%a inodes=%c inodes_free=%d' "$@"
    folders
    storage_folders
  fi
  # The kernel lists mounted XFS file systems here.
  for mounted in /sys/fs/xfs/*/log; do
    if [ -e "$mounted" ] && has xfs_info; then
      quiet xfs 3 xfs_info /var/lib
      break
    fi
  done
}

network() {
  links
  rdma
  if has ip; then
    run ip-links 5 ip -o link show
    run addresses 5 ip -o addr show
    run routes 5 ip -o route show table main
    quiet routes6 5 ip -o -6 route show table main
  else
    limit 5 awk "$FILES" /proc/net/fib_trie /proc/net/route '=' | awk '/^=== environment/ { exit } { print }'
  fi
  if has ss; then
    text=$(limit 5 ss -ltnp 2>&1)
    status=$?
    frame listeners "$(printf '%s\n' "$text" | whole_rows)" "$status"
  else
    limit 5 awk "$FILES" '~^ *[0-9]+: [0-9A-F]+:[0-9A-F]+ [0-9A-F]+:0000 0A ' /proc/net/tcp /proc/net/tcp6 '=' |
      awk '/^=== environment/ { exit } { print }'
  fi
}

# ss prints the name of a program as it is, 15 bytes of any value: any other line belongs to the row before.
whole_rows() {
  awk '
    NR == 1 || /^LISTEN +[0-9]+ +[0-9]+ +[^ ]+:[0-9]+ +[^ ]+:[*0-9]+( |$)/ {
      if (NR > 1) print row
      row = $0
      next
    }
    { row = row "?" $0 }
    END { if (NR) print row }'
}

# --- Output of programs ----------------------------------------------------------------------------

system() {
  if has systemd-detect-virt; then
    run virtualization 3 systemd-detect-virt
    run container 3 systemd-detect-virt -c
  fi
  [ "${purpose:-}" = slow ] || ! has systemctl || units
  has iptables && iptables_rules
  has nft && nft_chains
  # The first line is the default zone.
  ! has firewall-cmd || ! limit 3 systemctl is-active --quiet firewalld.service ||
    kept firewalld '^([^[:space:]]|  (target|interfaces|sources|services|ports):)' 10 sh -c 'firewall-cmd --get-default-zone && firewall-cmd --list-all-zones'
  packages
}

# Reading a table that does not exist would load modules.
iptables_rules() {
  text=$(limit 3 iptables -V 2>&1)
  frame iptables "$text" "$?"
  case $text in
    *nf_tables*) [ -d /sys/module/nf_tables ] || [ ! -e "/lib/modules/$release/modules.dep" ] || return ;;
    *) grep -qx filter /proc/net/ip_tables_names 2>/dev/null || return ;;
  esac
  has iptables-save && kept iptables-filter '^(:|-A )(INPUT|FORWARD|OUTPUT) ' 5 iptables-save -t filter
}

# The base chains of nftables that filter what arrives or is forwarded, with their rules; those of iptables are in iptables-filter.
nft_chains() {
  [ -d /sys/module/nf_tables ] || [ ! -e "/lib/modules/$release/modules.dep" ] || return 0
  text=$(limit 3 nft list chains 2>&1)
  code=$?
  if [ "$code" = 0 ]; then
    text=$(printf '%s\n' "$text" | awk '
      $1 == "table" { family = $2; table = $3 }
      $1 == "chain" { chain = $2 }
      / hook (input|forward) / && $2 == "filter" && !(table == "filter" && chain ~ /^(INPUT|FORWARD)$/) && n++ < 8 { print family, table, chain }
    ' | while read -r family table chain; do limit 3 nft -s list chain "$family" "$table" "$chain" | head -n 60; done)
  fi
  frame nftables "$text" "$code"
}

# The files that containerd's configuration imports: a name is relative to the configuration, and may be a pattern.
containerd_imports() {
  [ -f /etc/containerd/config.toml ] || return 0
  awk '/^[[:space:]]*\[/ && !list { exit }
    /^[[:space:]]*imports[[:space:]]*=/ { list = 1 }
    list {
      sub(/#.*/, "")
      text = $0
      while (match(text, /"[^"]*"|'"'[^']*'"'/)) {
        print substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
      }
      if (/\]/) exit
    }' /etc/containerd/config.toml | while IFS= read -r pattern; do
    case $pattern in /*) ;; *) pattern=/etc/containerd/$pattern ;; esac
    case $pattern in *[[:space:][:cntrl:]]*) continue ;; esac
    for file in $pattern; do
      [ -f "$file" ] && printf '%s\n' "$file"
    done
  done
}

units() {
  units_named containerd.service docker.service docker.socket crio.service cri-docker.service cri-docker.socket kubelet.service \
    firewalld.service ufw.service nftables.service apparmor.service fapolicyd.service NetworkManager.service \
    systemd-resolved.service systemd-timesyncd.service chrony.service chronyd.service ntp.service ntpsec.service \
    ntpd.service openntpd.service unattended-upgrades.service apt-daily.service apt-daily-upgrade.service \
    zramswap.service multipathd.service iscsid.service systemd-networkd.service nvidia-persistenced.service \
    nvidia-fabricmanager.service \
    nvlsm.service nvidia-imex.service nvidia-dcgm.service \
    nvidia-cdi-refresh.service nvidia-cdi-refresh.path nvidia-docker.service gpuadm-health.timer nvidia-gridd.service \
    nvidia-mps.service k3s.service k3s-agent.service rke2-server.service rke2-agent.service k0scontroller.service k0sworker.service \
    snap.microk8s.daemon-kubelite.service '*.swap' | with_logs_of_failed
}

# The section units from stdin, and the last lines of the journal of each unit that failed or is restarted, of at most six.
with_logs_of_failed() {
  listed=$(cat)
  printf '%s\n' "$listed"
  has journalctl || return 0
  printf '%s\n' "$listed" | awk '
    /^Id=/ { id = substr($0, 4) }
    (/^ActiveState=failed$/ || /^SubState=auto-restart$/) && id ~ /^[A-Za-z0-9@._:-]+[.]service$/ && !(id in seen) && n++ < 6 {
      seen[id] = 1
      print id
    }' | while IFS= read -r unit; do
    journal=$(limit 5 journalctl -u "$unit" -b -n 400 -o cat -q --no-pager 2>/dev/null)
    status=$?
    frame "unit-log/$unit" "$(printf '%s\n' "$journal" | last_lines 20 '')" "$status"
  done
}

# units_named UNIT…: one call for all units; units that do not exist are omitted.
units_named() {
  {
    limit 5 systemctl show --no-pager -p Id,LoadState,ActiveState,SubState,UnitFileState,NRestarts,ActiveEnterTimestampMonotonic,Environment \
      -p LimitNOFILE,LimitNOFILESoft,LimitMEMLOCK,TasksMax,Delegate,ExecStart "$@" 2>/dev/null
    printf '\n%s\n' "$?"
  } | awk 'BEGIN { RS = "" }
    !/LoadState=not-found/ {
      if (!/(^|\n)Id=(containerd|docker|crio)\.service/) gsub(/ExecStart=[^\n]*\n?/, "")
      printf "%s%s\n", gap, $0; gap = "\n"
    }' |
    framed units
}

# Relevant packages with their state, whether they are held, and the holder of the package manager's lock.
# shellcheck disable=SC2016
packages() {
  if [ -r /var/lib/dpkg/status ]; then
    limit 5 awk '
      BEGIN { print "=== packages" }
      /^Package: / { package = $2; keep = package ~ /^(containerd|docker|runc$|crun$|cri-|kube|kubernetes|nvidia|libnvidia|cuda-(drivers|compat|keyring)|libcuda|containernetworking|conntrack$|socat$|ethtool$|iptables$|nftables$|mlnx-ofed|mlnx-tools|doca-|rdma-core$)/ }
      keep && /^Status: / { want = $2; state = $4 }
      keep && /^Version: / { print "| " package " " $2 " " want " " state; keep = 0 }
    ' /var/lib/dpkg/status
  elif has rpm; then
    quiet packages 10 rpm -qa --qf '%{NAME} %{VERSION}-%{RELEASE} install installed\n' 'kube*' 'containerd*' 'docker*' \
      'runc' 'cri-*' 'nvidia*' 'libnvidia*' 'akmod-nvidia*' 'kmod-nvidia*' 'xorg-x11-drv-nvidia*' 'cuda*' 'container-selinux' 'containernetworking*' 'conntrack*' 'mlnx-*' 'doca-*' 'rdma-core'
  fi
  [ -r /var/lib/dpkg/lock ] && [ -r /proc/locks ] || return
  # A user can lock a file that has the same number on another file system: only root and its own programs lock these.
  limit 3 ls -i /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock 2>/dev/null | awk "$process_awk"'
    BEGIN {
      print "=== package-locks"
      while ((getline text < "/proc/locks") > 0) {
        n = split(text, word, " ")
        for (i = 5; i < n; i++) if (word[i] ~ /^[0-9a-f]+:[0-9a-f]+:[0-9]+$/ && word[i - 1] ~ /^[0-9]+$/ && is_roots(word[i - 1])) {
          split(word[i], place, ":")
          holder[place[3]] = word[i - 1]
        }
      }
    }
    $1 in holder {
      program = name_of(holder[$1])
      print "| " $2 " pid=" holder[$1] " program=" (program == "" ? "unknown" : program)
    }'
}

names() {
  { read -r host </proc/sys/kernel/hostname; } 2>/dev/null
  has getent && [ -n "$host" ] && run resolves 4 getent ahosts "$host"
  # A query to systemd-timedated would start it.
  has chronyc && quiet chrony 3 chronyc -n tracking
  hardware
  return 0
}

# Processes in uninterruptible sleep, and zombies. Those that any user could have started are few, so that they hide no other.
processes() {
  section processes
  printf '%s\n' /proc/[0-9]* | awk "$process_awk"'
    {
      pid = substr($0, 7)
      text = printable(text_of("/proc/" pid "/stat"))
      if (text !~ /[)] [DZ] /) next
      state = text
      while (match(state, /[)] /)) state = substr(state, RSTART + 2)
      if (state !~ /^[DZ] /) next
      trusted = is_system(pid) || is_service_of_gpus(pid)
      if (count[trusted]++ < 256) print "| " substr(text, 1, 400) " system=" (trusted ? "yes" : "no")
    }'
}

# The state of the firmware, the disks and the security modules.
hardware() {
  [ "${purpose:-}" = slow ] || processes
  boot=/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
  [ -r "$boot" ] && quiet secure-boot 2 od -An -tu1 "$boot"
  if [ -e /sys/fs/selinux/enforce ] && [ -r /var/log/audit/audit.log ] && has tail; then
    section selinux-denials
    limit 3 tail -c 262144 /var/log/audit/audit.log | awk '
      /avc: +denied/ && /container|kubelet|nvidia|spc_t/ { denied[n++ % 20] = substr($0, 1, 400) }
      END { for (i = n > 20 ? n - 20 : 0; i < n; i++) print "| " denied[i % 20] }'
  fi
  # Only drive types that respond immediately, and no drive that sleeps.
  has smartctl || return
  section smart
  count=0
  for disk in /dev/nvme[0-9] /dev/nvme[0-9][0-9] /dev/sd[a-z]; do
    { [ -e "$disk" ] && [ "$count" -lt 16 ]; } || continue
    count=$((count + 1))
    limit 4 smartctl -n standby -HA "$disk" 2>/dev/null | awk -v disk="$disk" '
      /self-assessment|SMART Health Status|^Critical Warning|^Percentage Used/ { print "| " disk " " $0 }'
  done
}

# noted NAME SECONDS COMMAND…: like quiet, with the output in $noted. If gpuadm has noted it when it installed the program
# (program_note in prelude.sh), and the file is the same still, the program is not run: one of Kubernetes takes 50 ms to start.
noted() {
  noted_in=/var/lib/gpuadm/versions/$1
  if [ -r "$noted_in" ] && noted_is=$(stat -L -c '%n %d %i %s %y %z' "$(command -v "$3")" 2>/dev/null) &&
    { IFS= read -r noted_was && [ "$noted_was" = "$noted_is" ] && noted=$(cat) && [ -n "$noted" ]; } <"$noted_in"; then
    frame "$1" "$noted" 0
    return 0
  fi
  name=$1
  shift
  noted=$(limit "$@" 2>/dev/null)
  frame "$name" "$noted" "$?"
}

kubernetes() {
  has kubelet && noted kubelet 5 kubelet --version
  if has kubeadm; then
    noted kubeadm 5 kubeadm version -o short
    # With a version it contacts no server.
    case $noted in v1.*) noted kubeadm-images 10 kubeadm config images list --kubernetes-version "$noted" ;; esac
  fi
  has kubectl && noted kubectl 5 kubectl version --client -o json
  metrics
  node
}

# State of a node, if the host is one.
node() {
  [ -d /etc/kubernetes ] || return 0
  certificates
  [ "${purpose:-}" = status ] || hardening
  case ${purpose:-}:${reasons:-} in status:* | *:yes) control_plane ;; esac
  [ "${reasons:-}" != yes ] || node_reasons
  # The journal is slow, so it is read only if a kubelet that should run has not reached its API server. Lines from before its
  # configuration belong to an earlier cluster.
  for file in /etc/kubernetes/kubelet.conf /etc/kubernetes/bootstrap-kubelet.conf; do
    [ -e "$file" ] || continue
    if [ ! -e /var/lib/kubelet/pki/kubelet-client-current.pem ] || ! limit 3 systemctl is-active -q kubelet 2>/dev/null; then
      since=$(limit 3 stat -L -c %Y "$file" 2>/dev/null)
      quiet kubelet-log 5 journalctl -u kubelet ${since:+--since=@$since} -n 60 -o cat -q --no-pager
    fi
    break
  done
  return 0
}

# Metrics of kube-proxy and etcd; of etcd the disk latencies since it started.
metrics() {
  has curl || return 0
  [ -e /etc/kubernetes/kubelet.conf ] &&
    quiet kube-proxy-mode 2 curl -sf --noproxy '*' --max-time 1 http://127.0.0.1:10249/proxyMode
  # With an IPv6 advertise address, etcd listens on [::1].
  [ -e /etc/kubernetes/manifests/etcd.yaml ] &&
    kept etcd-metrics '^etcd_disk_(wal_fsync|backend_commit)_duration_seconds_(bucket|count)' \
      3 curl -sfg --noproxy '*' --max-time 2 "$(flag_in /etc/kubernetes/manifests/etcd.yaml listen-metrics-urls http://127.0.0.1:2381)/metrics"
}

# flag_in MANIFEST NAME DEFAULT: the value of a flag on a static pod's command line.
flag_in() {
  flag=$3
  while read -r dash word; do
    case $dash$word in "---$2="*) flag=${word#*=} ;; esac
  done <"$1"
  printf '%s\n' "${flag%%,*}"
}

# Health of the control plane's components on this machine: "name status answer", with kubectl's exit status.
control_plane() {
  { [ -e /etc/kubernetes/admin.conf ] && has kubectl; } || return 0
  section control-plane
  together 'component etcd' 'component kube-scheduler' 'component kube-controller-manager' 'component kube-apiserver'
}
component() {
  part=$1 manifest=/etc/kubernetes/manifests/$1.yaml
  [ -r "$manifest" ] || return 0
  case $part in
    kube-apiserver) server=https://127.0.0.1:$(flag_in "$manifest" secure-port 6443) where=/readyz ;;
    kube-controller-manager) server=https://127.0.0.1:$(flag_in "$manifest" secure-port 10257) where=/healthz ;;
    kube-scheduler) server=https://127.0.0.1:$(flag_in "$manifest" secure-port 10259) where=/healthz ;;
    etcd) server=$(flag_in "$manifest" listen-metrics-urls '') where=/health ;;
  esac
  [ -n "$server" ] || return 0
  # Their certificates do not contain 127.0.0.1.
  answer=$(limit 5 kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=4s --insecure-skip-tls-verify=true \
    --server "$server" get --raw "$where" 2>&1)
  status=$?
  line "$part $status ${answer%%"$newline"*}"
}

# Prints the flags of static pods and, of the files to which kube-apiserver's flags refer, only the checked values: the names of
# encryption providers, the levels of audit rules, the conditions of anonymous access, the types of authorizers, the defaults of Pod
# Security. No key and no other value of these files leaves the host. Arguments: the manifests.
# shellcheck disable=SC2016
SETTINGS='
function put(text) {
  if (length(text) > 2000) text = substr(text, 1, 2000)
  gsub(/:\/\/[^\/@ ]*@/, "://***@", text)
  print "| " text
}
# The value of a list item, without quotes; empty if the line is not an item.
function item(text) {
  if (text !~ /^[ \t]*-[ \t]+[^ \t]/) return ""
  sub(/^[ \t]*-[ \t]+/, "", text)
  sub(/[ \t\r]+$/, "", text)
  if (text ~ /^".*"$/ || text ~ /^\047.*\047$/) text = substr(text, 2, length(text) - 2)
  return text
}
function flag(pod, text,    at) {
  put(pod " " text)
  at = index(text, "=")
  if (pod == "kube-apiserver" && at > 3) file[substr(text, 3, at - 3)] = substr(text, at + 1)
}
# A line "NAME" if the command was found, "NAME --flag=value" for each flag, "NAME !" if its end could not be parsed.
function manifest(path,    pod, text, got, count, word, held, on) {
  count = on = 0
  pod = path
  sub(/.*\//, "", pod)
  sub(/[.]yaml$/, "", pod)
  got = (getline text < path)
  for (; got > 0 && count < 2000; got = (getline text < path)) {
    count++
    word = item(text)
    if (text ~ "^[ \t]*image:[^#]*/" pod "[:@]") {
      word = text
      gsub(/^[ \t]*image:|[" \t\r\047]/, "", word)
      put(pod " image=" word)
    }
    if (on == 2 && text ~ /^[ \t]*args:/) put(pod " !")
    if (!on && (word == pod || word ~ "/" pod "$") && item(text) != "") {
      on = 1
      put(pod)
    } else if (on == 1 && word ~ /^--/) {
      if (held != "") flag(pod, held)
      held = word
    } else if (on == 1 && item(text) != "" && held != "" && held !~ /=/) {
      flag(pod, held "=" word)
      held = ""
    } else if (on == 1 && text !~ /^[ \t]*(args:)?[ \t\r]*(#.*)?$/) {
      if (text !~ /^[ \t]*[A-Za-z]+:/) put(pod " !")
      on = 2
    }
  }
  if (held != "") flag(pod, held)
  if (got > 0) put(pod " !")
  close(path)
}
# Each known value of a key on a line.
function values(text, key, known,    word) {
  while (match(text, "(^|[ {,\"\047-])" key "[\"\047]?:[ \t]*[\"\047]?(" known ")([^A-Za-z]|$)")) {
    word = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    sub(/^[^:]*:/, "", word)
    gsub(/[^A-Za-z]/, "", word)
    put(key " " word)
  }
}
function anonymous(text) {
  if (text ~ /^[^ \t-]/) inside = text ~ /^anonymous:/
  if (inside) put(text)
}
function encryption(text) {
  if (text ~ /^[ \t]*(-[ \t]+)?resources:([ \t]*\[[]["a-z0-9.*, \/-]*)?$/) inside = 1
  else if (text ~ /^[ \t]*(-[ \t]+)?providers:$/) inside = 0
  else if (text ~ /^[ \t]*-[ \t]+(identity|secretbox|aescbc|aesgcm|kms):/) sub(/:.*/, ":", text)
  else if (!inside || text !~ /^[ \t]*-[ \t]+["\047]?[a-z0-9.*\/-]+["\047]?$/) { inside = 0; return }
  put(text)
}
function admission(text,    word) {
  if (text !~ /^[ \t]*(-[ \t]+)?(plugins|name|path|configuration|defaults|enforce):/) return
  put(text)
  if (text ~ /^[ \t]*-/) plugin = folder = ""
  word = text
  gsub(/^[^:]*:[ \t]*|["\047]/, "", word)
  if (text ~ /^[ \t]*(-[ \t]+)?name:/) plugin = word
  if (text ~ /^[ \t]*(-[ \t]+)?path:/) folder = word
  if (plugin == "PodSecurity" && folder != "") pods = folder
}
function show(name, path,    text, got, count) {
  count = 0
  if (path !~ /^\//) return
  inside = 0
  got = (getline text < path)
  if (got < 0) return
  print "=== kube-apiserver/" name
  for (; got > 0; got = (getline text < path)) {
    if (++count > 5000) { print "! cut"; break }
    sub(/(^|[ \t])#.*/, "", text)
    sub(/[ \t\r]+$/, "", text)
    if (text == "") continue
    if (text ~ /^kind:/) put(text)
    else if (name == "audit-policy-file") values(text, "level", "None|Metadata|Request|RequestResponse")
    else if (name == "authorization-config") values(text, "type", "Node|RBAC|ABAC|Webhook|AlwaysAllow|AlwaysDeny")
    else if (name == "authentication-config") anonymous(text)
    else if (name == "encryption-provider-config") encryption(text)
    else admission(text)
  }
  close(path)
}
BEGIN {
  print "=== static-pods"
  for (i = 1; i < ARGC; i++) manifest(ARGV[i])
  show("audit-policy-file", file["audit-policy-file"])
  show("authorization-config", file["authorization-config"])
  show("authentication-config", file["authentication-config"])
  show("encryption-provider-config", file["encryption-provider-config"])
  show("admission-control-config-file", file["admission-control-config-file"])
  if (pods ~ /^[^\/]/) {
    folder = file["admission-control-config-file"]
    sub(/[^\/]*$/, "", folder)
    pods = folder pods
  }
  show("pod-security", pods)
}'

# Data for the CIS Kubernetes Benchmark: flags, and the modes and owners of files.
hardening() {
  set --
  for part in kube-apiserver kube-controller-manager kube-scheduler etcd; do
    [ -f "/etc/kubernetes/manifests/$part.yaml" ] && set -- "$@" "/etc/kubernetes/manifests/$part.yaml"
  done
  # All or nothing: a flag after a truncated output would look as if it were not set.
  [ $# = 0 ] || { text=$(limit 5 awk "$SETTINGS" "$@") && printf '%s\n' "$text"; }
  has stat || return 0
  data=/var/lib/etcd
  [ -r /etc/kubernetes/manifests/etcd.yaml ] && data=$(flag_in /etc/kubernetes/manifests/etcd.yaml data-dir /var/lib/etcd)
  for file in /etc/kubernetes/*.conf /etc/kubernetes/pki /etc/kubernetes/pki/* /etc/kubernetes/pki/etcd/* /etc/cni/net.d/* \
    /var/lib/kubelet/config.yaml /etc/systemd/system/kubelet.service /etc/systemd/system/kubelet.service.d/*.conf \
    /usr/lib/systemd/system/kubelet.service /usr/lib/systemd/system/kubelet.service.d/*.conf "$data"; do
    case $file in *[[:cntrl:]]*) continue ;; esac
    [ -e "$file" ] && set -- "$@" "$file"
  done
  [ $# = 0 ] || quiet file-modes 5 stat -L -c '%a %U %G %n' "$@"
}

# Expiry dates of the certificates of the kubelet and the control plane; keys do not leave certificate_texts.
certificates() {
  if ! has openssl; then
    certificates_by_kubeadm
    return 0
  fi
  section certificates
  text=$(certificate_texts)
  # One openssl process reads all of them, because each takes longer to start than to read; OpenSSL 1.0 cannot, and an unreadable
  # certificate would shift the following ones.
  ends=$(printf '%s\n' "$text" | limit 5 openssl storeutl -noout -text -certs /dev/stdin 2>/dev/null | sed -n 's/^ *Not After *: *//p')
  printf '%s\n' "$text" "$ends" | awk '
    /^# / { name[++names] = substr($0, 3) }
    / GMT$/ { end[++ends] = $0 }
    END {
      if (names != ends) exit 1
      for (i = 1; i <= names; i++) print "| " name[i] " " end[i]
    }' || printf '%s\n' "$text" | certificate_ends
}

# "# FILE" and the first certificate of each.
certificate_texts() {
  {
    for file in /var/lib/kubelet/pki/kubelet-client-current.pem /var/lib/kubelet/pki/kubelet-server-current.pem \
      /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/etcd/*.crt; do
      [ -r "$file" ] && echo "# $file" && cat "$file"
    done
    for file in /etc/kubernetes/admin.conf /etc/kubernetes/super-admin.conf /etc/kubernetes/controller-manager.conf \
      /etc/kubernetes/scheduler.conf; do
      [ -r "$file" ] && echo "# $file" && sed -n 's/^ *client-certificate-data: *//p' "$file" | base64 -d 2>/dev/null && echo
    done
    # The certificate in use may be older than the one in the file.
    if [ -r /etc/kubernetes/manifests/kube-apiserver.yaml ]; then
      port=$(sed -n 's/^ *- --secure-port=//p' /etc/kubernetes/manifests/kube-apiserver.yaml)
      echo "# https://127.0.0.1:${port:-6443}"
      limit 3 openssl s_client -connect "127.0.0.1:${port:-6443}" </dev/null 2>/dev/null
    fi
  } | awk '
    /^# \// || /^# https:/ { name = $0 }
    /^-----BEGIN / { on = 0 } # of the key after a truncated certificate
    /^-----BEGIN CERTIFICATE-----/ && name != "" { print name; name = ""; on = 1 }
    on
    /^-----END / { on = 0 }'
}

# The same texts from stdin, one by one.
certificate_ends() {
  while IFS= read -r text; do
    case $text in
      '# '*) name=${text#??} block= ;;
      *) block=$block$text$newline ;;
    esac
    case $text in
      -----END*)
        dates=$(printf %s "$block" | limit 2 openssl x509 -noout -startdate -enddate 2>/dev/null) || continue
        begins=${dates%%"$newline"*}
        line "$name ${dates#*notAfter=} from ${begins#notBefore=}"
        ;;
    esac
  done
  return 0
}

# The same from kubeadm: "apiserver-etcd-client  Nov 22, 2027 16:18 UTC  364d  etcd-ca  no".
certificates_by_kubeadm() {
  has kubeadm && [ -d /etc/kubernetes/pki ] || return 0
  section certificates
  { limit 20 kubeadm certs check-expiration || limit 20 kubeadm alpha certs check-expiration; } 2>/dev/null |
    awk '$2 ~ /^[A-Z][a-z][a-z]$/ && $6 == "UTC" && $1 ~ /^[a-z.-]+$/ {
      file = $1 ~ /[.]conf$/ ? $1 : "pki/" $1 ".crt"
      if ($1 == "etcd-ca" || $1 == "etcd-server" || $1 == "etcd-peer" || $1 == "etcd-healthcheck-client") sub(/etcd-/, "etcd/", file)
      sub(/,/, "", $3)
      print "| /etc/kubernetes/" file " " $2 " " $3 " " $5 ":00 " $4 " GMT"
    }'
}

# A daemon is queried only if it is running, because a query through a socket unit would start it.
runtime() {
  if has containerd; then
    quiet containerd 5 containerd --version
    text=$(limit 5 containerd config dump 2>/dev/null)
    status=$?
    # Warnings would corrupt the output of a valid configuration; only the errors of an invalid one matter.
    [ "$status" = 0 ] || { text=$(limit 5 containerd config dump 2>&1) && status=0 || status=$?; }
    frame containerd-dump "$text" "$status"
    if [ -S /run/containerd/containerd.sock ] && has ctr; then
      run containerd-plugins 5 ctr plugins ls
    fi
    # shellcheck disable=SC2046 # a line each, none with blanks
    listing_of containerd-imports $(containerd_imports)
  fi
  if [ -S /run/containerd/containerd.sock ] && has crictl; then
    run cri-containerd 5 crictl -t 3s -r unix:///run/containerd/containerd.sock version
  fi
  has runc && quiet runc 5 runc --version
  if has dockerd; then
    quiet docker 5 dockerd --version
  elif has docker; then
    quiet docker 5 docker --version
  fi
  if has docker && [ -S /run/docker.sock ] && [ -e /run/docker.pid ]; then
    run docker-info 5 docker info --format \
      'server={{.ServerVersion}} driver={{.CgroupDriver}} storage={{.Driver}} runtime={{.DefaultRuntime}} root={{.DockerRootDir}}'
  fi
  has crio && quiet crio 5 crio --version
  has nvidia-ctk && quiet nvidia-ctk 5 nvidia-ctk --version
}

# The drivers of PCI devices, as words of a regex: of GPUs, network cards and disks.
drivers_in_use() {
  for driver in /sys/bus/pci/drivers/*/0000:*; do
    [ -e "$driver" ] || continue
    driver=${driver%/*}
    driver=${driver##*/}
    case $driver in *[!A-Za-z0-9_-]* | pcieport | shpchp) ;; *) printf '%s\n' "$driver" ;; esac
  done | sort -u | awk 'NR <= 64 { printf "|%s", $0 }'
}

# The kernel log with the priority of each line, as "<3>", if dmesg or journalctl gives it.
kernel_lines() {
  limit 5 dmesg -r 2>/dev/null && return
  limit 5 dmesg 2>/dev/null && return
  has journalctl && limit 10 journalctl -k -b --no-pager -o short-monotonic 2>/dev/null
}

# Of the kernel log the first line, which shows how far back it goes, the newest 300 lines that match LOG or have priority err or above,
# and the newest 60 others that name a driver in use. Lines of priority err and above begin with it: "<3>".
kernel_log() {
  {
    kernel_lines
    printf '\n%s\n' "$?"
  } | awk -v re="$LOG" -v drivers="^[^a-zA-Z]*(nvidia$(drivers_in_use))[ :]" '
    function take(text,    priority) {
      priority = 7
      if (match(text, /^<[0-9]+>/)) {
        priority = substr(text, 2, RLENGTH - 2) % 8
        if (priority > 3) text = substr(text, RLENGTH + 1)
        else text = "<" priority substr(text, RLENGTH)
      }
      text = substr(text, 1, 400)
      if (first == "") first = text
      else if (text ~ /ommand line: /) return
      else if (priority <= 3 || text ~ re) keep(1, 300, text)
      else if (text ~ drivers) keep(2, 60, text)
    }
    function keep(class, most, text) {
      if (++count[class] > most) delete kept[place[class, count[class] % most]]
      place[class, count[class] % most] = NR
      kept[NR] = text
    }
    NR > 2 { take(held) }
    { held = last; last = $0 }
    END {
      if (NR < 3 || last != "0") exit
      print "=== kernel-log"
      print "| " first
      for (i = 1; i <= NR; i++) if (i in kept) print "| " kept[i]
      print "? 0"
    }'
}

# Modules that are built on the host: their compiler, and the last lines of a build that failed, of the highest version. DKMS moves the log of
# one that succeeded, akmods names it. Only root writes to these folders.
dkms_tools() {
  for tree in /var/lib/dkms/nvidia*; do
    [ -d "$tree" ] || continue
    has gcc && quiet gcc 3 gcc -dumpversion
    break
  done
  failed=
  for log in /var/lib/dkms/nvidia*/*/build/make.log /var/cache/akmods/nvidia*/*.failed.log; do
    [ ! -f "$log" ] || failed=$log
  done
  [ -n "$failed" ] || return 0
  {
    limit 3 tail -c 200000 "$failed" 2>/dev/null | last_lines 20 '[Ee]rror: |[*][*][*] '
    printf '\n0\n'
  } | framed driver-build-log
}

fabric() {
  has nv-fabricmanager && quiet fabricmanager 3 nv-fabricmanager --version
  # Other users than root may write to /var/log, so a symbolic link is not followed.
  [ -r /var/log/fabricmanager.log ] && [ ! -L /var/log/fabricmanager.log ] || return
  {
    limit 3 tail -c 200000 /var/log/fabricmanager.log 2>/dev/null |
      last_lines 60 '[Ff][Aa][Tt][Aa][Ll]|[Ee][Rr][Rr][Oo][Rr]|NOTHING_TO_DO|[Ss]uccess'
    printf '\n0\n'
  } | framed fabricmanager-log
}

# Whether a pod that mounts only the folder of FILE can read it: no link on the path is absolute.
is_file_inside() {
  file=$1 links=0
  while [ -L "$file" ]; do
    target=$(readlink "$file")
    case $target in /*) return 1 ;; esac
    file=${file%/*}/$target links=$((links + 1))
    [ "$links" -lt 9 ] || return 1
  done
  [ -f "$file" ]
}

# The folders in which NVIDIA's DRA driver may search for the GPU driver, with their content: "ROOT NVIDIA-SMI LIBRARY", "-" for a
# missing file; then "no-devices" if ROOT has a folder dev without NVIDIA devices. It requires an nvidia-smi that is not a link, and
# follows links of the library: hack/kubelet-plugin-prestart.sh of kubernetes-sigs/dra-driver-nvidia-gpu.
driver_roots() {
  section driver-roots
  found=$(command -v nvidia-smi) && found=$(readlink -f "$found")
  for folder in /opt/bin /usr/bin /usr/sbin /bin /sbin; do
    case $found in *"$folder/nvidia-smi") found=${found%"$folder/nvidia-smi"} && break ;; esac
  done
  for root in / /usr/local/nvidia /opt/nvidia /opt/nvidia-driver /run/nvidia/driver /home/kubernetes/bin/nvidia "$found"; do
    case $root in *[!A-Za-z0-9._/-]* | */nvidia-smi | '') continue ;; esac
    root=${root%/} smi_at=- library_at=-
    for folder in opt/bin usr/bin usr/sbin bin sbin; do
      [ "$smi_at" = - ] || continue
      file=$root/$folder/nvidia-smi
      [ -f "$file" ] && [ ! -L "$file" ] && [ ! -L "${file%/*}" ] && smi_at=$folder/nvidia-smi
    done
    for folder in usr/lib64 usr/lib/x86_64-linux-gnu usr/lib/aarch64-linux-gnu lib64 lib/x86_64-linux-gnu lib/aarch64-linux-gnu; do
      [ "$library_at" = - ] || continue
      is_file_inside "$root/$folder/libnvidia-ml.so.1" && library_at=$folder/libnvidia-ml.so.1
    done
    # It searches for devices in a folder dev below the root (cmd/gpu-kubelet-plugin/root.go, isDevRoot).
    devices=
    [ ! -d "$root/dev" ] || [ -z "$root" ] || [ -e "$root/dev/nvidiactl" ] || devices=' no-devices'
    [ "$smi_at $library_at" = "- -" ] || line "${root:-/} $smi_at $library_at$devices"
  done
}

# shellcheck disable=SC2086 # smi: one of the words of list_gpus
gpu() {
  kernel_log
  dkms_tools
  fabric
  section gpu-libraries-dangling
  for file in /usr/lib/*/libnvidia-*.so* /usr/lib/*/libcuda.so* /usr/lib64/libnvidia-*.so* /usr/lib64/libcuda.so*; do
    [ -L "$file" ] && [ ! -e "$file" ] && line "$file"
  done
  section gpu-libraries
  for file in /usr/lib/*/libnvidia-ml.so.* /usr/lib64/libnvidia-ml.so.* /usr/lib/libnvidia-ml.so.* \
    /usr/local/nvidia/lib*/libnvidia-ml.so.* /opt/nvidia/lib*/libnvidia-ml.so.* \
    /run/nvidia/driver/usr/lib/*/libnvidia-ml.so.* /run/nvidia/driver/usr/lib64/libnvidia-ml.so.* \
    /usr/lib/*/libcuda.so.[0-9]* /usr/lib64/libcuda.so.[0-9]* /usr/local/nvidia/lib*/libcuda.so.[0-9]*; do
    [ -e "$file" ] && line "$file"
  done
  driver_roots
  if [ -c /dev/nvidia0 ] && [ -e /sys/fs/selinux/enforce ]; then
    quiet device-label 2 ls -Z /dev/nvidia0
  fi
  if [ -e /proc/driver/nvidia/version ] && has nvidia-container-cli; then
    run nvidia-container-cli 10 nvidia-container-cli info
  fi
  has modinfo && quiet nvidia-module 3 modinfo -F version nvidia
  if [ -e /proc/driver/nvidia/version ] && [ -e /sys/class/iommu ] && has lspci; then
    {
      limit 5 lspci -vv -d ::0604 2>/dev/null
      printf '\n%s\n' "$?"
    } | awk '/^[0-9a-f]+:/ { slot = $1 } /ACSCtl:/ { print slot, $0 } /^[0-9]+$/' | framed acs
  fi
  list_gpus || return 0
  frame nvidia-smi "$text" "$status"
  section nvidia-smi-uptime
  # shellcheck disable=SC2031 # list_gpus ran in the same subshell
  line "$began $ended"
  [ "$status" = 0 ] || return 0
  {
    limit 20 $smi -q -x 2>/dev/null
    printf '\n%s\n' "$?"
  } | framed nvidia-smi-xml max=1048576 skip='<supported_clocks>' until='</supported_clocks>'
  # If all links of a GPU are down, it prints that instead of the links, and not always on stdout.
  links=$(limit 20 $smi nvlink -s 2>&1)
  frame nvidia-smi-nvlink "$links" "$?"
  [ "${purpose:-}" = fast ] || gpu_rest "$links"
}

# Sets smi, text (what nvidia-smi -L printed), status, and the uptimes before and after; fails if there is no nvidia-smi.
list_gpus() {
  smi=
  for program in nvidia-smi /usr/local/nvidia/bin/nvidia-smi /opt/nvidia/bin/nvidia-smi /usr/lib/wsl/lib/nvidia-smi; do
    if [ -z "$smi" ] && has "$program"; then smi=$program; fi
  done
  # The GPU Operator's driver container: its files are root's, and so are the folders above them.
  if [ -z "$smi" ] && has chroot && is_roots_driver /run/nvidia/driver; then smi='chroot /run/nvidia/driver nvidia-smi'; fi
  [ -n "$smi" ] || return
  { read -r began _ </proc/uptime; } 2>/dev/null
  # shellcheck disable=SC2086 # one of the words above
  text=$(limit 30 $smi -L 2>&1)
  status=$?
  { read -r ended _ </proc/uptime; } 2>/dev/null
}

# Whether a folder has an nvidia-smi that only root could have put there.
is_roots_driver() {
  [ -f "$1/usr/bin/nvidia-smi" ] && has stat || return 1
  for folder in /run /run/nvidia "$1" "$1/usr" "$1/usr/bin" "$1/usr/bin/nvidia-smi"; do
    [ ! -L "$folder" ] || return 1
    case $(stat -c '%u %A' "$folder" 2>/dev/null) in '0 '?????-??-*) ;; *) return 1 ;; esac
  done
}

# gpu_rest [LINKS]: what does not change while a driver is loaded, counters of errors, and whose GPUs are; it costs more processor time than
# the rest.
# After list_gpus. LINKS: what nvlink -s printed.
# shellcheck disable=SC2086
gpu_rest() {
  # A driver rejects the whole query if it does not support one of the fields.
  for fields in index,uuid,compute_cap,inforom.checksum_validation index,uuid,compute_cap; do
    answer=$(limit 20 $smi "--query-gpu=$fields" --format=csv 2>/dev/null) || continue
    frame nvidia-smi-fields "$answer" 0
    break
  done
  case ${1-Link 0} in *'Link '[0-9]*)
    answer=$(limit 20 $smi nvlink -e 2>/dev/null)
    status=$?
    case $answer in *'Link '[0-9]*) frame nvidia-smi-nvlink-errors "$answer" "$status" ;; esac
    ;;
  esac
  case $text in *"${newline}GPU "*) quiet nvidia-smi-topology 20 $smi topo -m ;; esac
  # On these machines the switches are managed through a network adapter with SW_MNG in its product data.
  case $text in *B[23]00*) quiet nvlink-managers 5 grep -la SW_MNG /sys/class/infiniband/*/device/vpd ;; esac
  gpu_allocations
}

# To which pods the kubelet has allocated GPUs: its checkpoint (pkg/kubelet/cm/devicemanager/checkpoint of Kubernetes) without the answers of
# device plugins, and the folders of logs, which have the names of these pods.
gpu_allocations() {
  checkpoint=/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint
  [ -r "$checkpoint" ] || return 0
  {
    limit 5 awk '{ gsub(/"AllocResp":"[^"]*"/, "\"AllocResp\":\"\"") } 1' "$checkpoint" 2>/dev/null
    printf '\n%s\n' "$?"
  } | framed kubelet-devices max=1048576
  section gpu-pods
  # shellcheck disable=SC2016 # fields of awk
  for uid in $(limit 5 awk '{
      for (i = split($0, part, /"PodUID":"/); i > 1; i--) {
        sub(/".*/, "", part[i])
        if (part[i] ~ /^[0-9a-f-]+$/ && length(part[i]) <= 36 && !seen[part[i]]++) print part[i]
      }
    }' "$checkpoint" 2>/dev/null); do
    for folder in /var/log/pods/*_*_"$uid"; do
      [ -d "$folder" ] && line "${folder##*/}"
    done
  done
}

# --- Main program ----------------------------------------------------------------------------------

has_nvidia() {
  has nvidia-smi && return
  for file in /sys/bus/pci/devices/*/vendor; do
    { read -r vendor <"$file"; } 2>/dev/null && [ "$vendor" = 0x10de ] && return
  done
  return 1
}

# The data that status shows for a host without GPUs.
brief() {
  limit 10 awk "$FILES" /proc/sys/kernel/hostname '~^ *server:' /etc/kubernetes/admin.conf /etc/kubernetes/kubelet.conf '='
  kinds /etc/kubernetes/admin.conf /etc/kubernetes/kubelet.conf /etc/kubernetes/pki/ca.crt
  listing /etc/kubernetes/manifests /etc/cni/net.d
  has systemctl && units_named kubelet.service containerd.service docker.service crio.service
  node
}

# The two halves of a run that is repeated often. No section is in both.
fast() {
  files
  paths
  pci
  processes
  has systemctl && units
  gpu
}
slow() {
  kernel_config
  disks
  network
  system
  names
  kubernetes
  runtime
  # With gpus=no, the fast half found that nvidia-smi does not answer: it is not started again.
  if [ "${gpus:-}" != no ] && list_gpus && [ "$status" = 0 ]; then gpu_rest; fi
}

clock() {
  section "$1"
  line "$(date '+%s.%N %z' 2>/dev/null)"
}

everything() {
  export LC_ALL=C
  unset LANGUAGE
  PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin
  release=
  { read -r release </proc/sys/kernel/osrelease; } 2>/dev/null
  echo 'gpuadm-probe 1'
  clock clock
  section machine
  line "$(uname -m 2>/dev/null)"
  if [ "${purpose:-}" = status ] && has awk && ! has_nvidia; then
    brief </dev/null
  elif [ "${purpose:-}" = fast ] && has awk; then
    fast </dev/null
  elif [ "${purpose:-}" = slow ] && has awk; then
    slow </dev/null
  elif has awk; then
    # Four slow parts run in parallel with the fast one; their output is buffered in pipes and printed in a fixed order.
    gpu | {
      runtime </dev/null | {
        kubernetes </dev/null | {
          names </dev/null | {
            {
              files
              kernel_config
              paths
              pci
              disks
              network
              system
            } </dev/null
            cat
          }
          cat
        }
        cat
      }
      cat
    }
  else
    paths
  fi
  clock clock-end
  echo '=== end'
}

# The output is printed at once, because many small packets would cost the client more than the login.
if has awk; then answer=$(sections everything </dev/null); else answer=$(everything </dev/null); fi
printf '%s\n' "$answer"
