# shellcheck shell=sh
# Runs on a host as root. Two runs on a host that nobody touched print the same.
export LC_ALL=C

# Files: kind, mode, owner, path, and the target of a link. Left out: logs, caches and temporary files, what systemd
# and sudo remember of their own runs, and the stores that runtimes, etcd and the kubelet write to all the time.
select_files() {
  find /etc /usr /opt /root /home /srv /boot /var -xdev \
    \( -path /var/log -o -path /var/cache -o -path /var/tmp -o -path /var/lib/systemd -o -path /var/lib/sudo \
    -o -path '/var/lib/containerd/*' -o -path '/var/lib/docker/*' -o -path '/var/lib/etcd/*' \
    -o -path '/var/lib/kubelet/*/*' \) -prune -o "$@"
}
select_files -printf 'file %M %U:%G %p %l\n' | sort
select_files -type f -print0 | sort -z | xargs -0 sha256sum | sed 's/^/sum /'

# What those stores hold.
for store in containerd docker etcd kubelet; do
  if [ -d "/var/lib/$store" ]; then
    find "/var/lib/$store" -mindepth 1 -maxdepth 1 -printf "store %M %U:%G %p\n" | sort
  fi
done
if command -v ctr >/dev/null && [ -S /run/containerd/containerd.sock ]; then
  for namespace in $(ctr namespaces ls -q); do
    ctr -n "$namespace" images ls -q 2>/dev/null | sed "s/^/image $namespace /"
    ctr -n "$namespace" containers ls -q 2>/dev/null | sed "s/^/container $namespace /"
  done
fi
if command -v docker >/dev/null && [ -S /run/docker.sock ]; then
  docker images --format 'image docker {{.Repository}}:{{.Tag}} {{.ID}}' | sort
  docker ps --all --no-trunc --format 'container docker {{.ID}} {{.Names}}' | sort
fi

# Active units with their start times, without those that run only in the first boot after an update (ConditionNeedsUpdate).
systemctl list-units --no-legend --plain --type=service,socket,timer,path,swap --state=active,activating,failed |
  while read -r unit _; do
    case $unit in ldconfig.service | systemd-journal-catalog-update.service | systemd-sysusers.service | systemd-update-done.service | systemd-hwdb-update.service) continue ;; esac
    printf 'unit %s\n' "$(systemctl show --property=Id,ActiveState,SubState,ActiveEnterTimestampMonotonic "$unit" |
      sort | paste -sd' ')"
  done | sort

# Kernel.
for setting in net.ipv4.ip_forward net.ipv6.conf.all.forwarding net.bridge.bridge-nf-call-iptables \
  net.bridge.bridge-nf-call-ip6tables vm.overcommit_memory vm.panic_on_oom vm.swappiness vm.max_map_count \
  kernel.panic kernel.panic_on_oops fs.inotify.max_user_instances fs.inotify.max_user_watches; do
  printf 'sysctl %s = %s\n' "$setting" "$(sysctl -n "$setting" 2>/dev/null || echo none)"
done
if [ -r /proc/modules ]; then cut -d' ' -f1 /proc/modules | sort | sed 's/^/module /'; fi
tail -n +2 /proc/swaps | awk '{ print "swap", $1 }'
awk '{ print "mount", $2, $3 }' /proc/self/mounts | sort
for table in iptables-save ip6tables-save; do
  if command -v "$table" >/dev/null; then
    "$table" 2>/dev/null | grep -v '^#' | sed -e 's/ \[[0-9]*:[0-9]*\]$//' -e "s/^/$table /"
  fi
done
ip -o link | awk -F': ' '{ sub("@.*", "", $2); print "link", $2 }' | sort
ip -o -4 address | awk '{ print "address", $2, $4 }' | sort

# What undo must restore in addition to all this: when settings were written, what starts at boot, and every parameter of the
# network (the others are the machine's) that does not change by itself.
find /etc -xdev -type f -printf 'time %T@ %p\n' | sort -k3
systemctl list-unit-files --no-legend --plain --no-pager | awk '{ print "unit-file", $1, $2 }' | sort
sysctl -a 2>/dev/null | grep -E '^net\.' | grep -Ev '_count|stable_secret' | sed 's/^/parameter /' | sort
