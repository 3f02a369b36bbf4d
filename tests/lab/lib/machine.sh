# shellcheck shell=bash
# What the machine must have to hold the lab.

LAB_PACKAGES=(mmdebstrap systemd-container debian-archive-keyring iproute2 iptables openssh-client openssl procps
  util-linux kmod ca-certificates dpkg-dev gcc libc6-dev golang-go golang-github-modern-go-reflect2-dev haproxy python3-grpcio
  docker-registry skopeo)

lab_deps() {
  local package missing=()
  for package in "${LAB_PACKAGES[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return 0
  say "installing ${missing[*]}"
  apt-get -q update >&2
  DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" >&2
}

lab_check() {
  local tool probe ns=gpuadm-check-$$
  [ "$(id -u)" = 0 ] || die "needs root (namespaces and mounts)"
  [ "$(uname -m)" = x86_64 ] || die "needs an x86_64 machine"
  for tool in systemd-nspawn mmdebstrap ip nsenter ssh ssh-keygen openssl flock; do
    command -v "$tool" >/dev/null || die "'$tool' is missing: run 'tests/lab/lab deps'"
  done
  grep -qw overlay /proc/filesystems || die "the kernel has no overlayfs"
  unshare --mount --pid --net --uts --ipc --cgroup --fork true 2>/dev/null || die "cannot make namespaces here"
  mkdir -p "$LAB_CACHE" 2>/dev/null || die "cannot write to $LAB_CACHE"
  probe=$(mktemp -d "$LAB_CACHE/check.XXXXXX")
  mkdir "$probe/lower" "$probe/upper" "$probe/work" "$probe/merged"
  # shellcheck disable=SC2016 # expanded by the inner shell
  if ! unshare --mount sh -c 'cd "$1" && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged' \
    sh "$probe" 2>/dev/null; then
    rm -rf "$probe"
    die "cannot mount an overlay under $LAB_CACHE"
  fi
  rm -rf "$probe"
  ip netns add "$ns" 2>/dev/null || die "cannot make a network namespace"
  if ! ip -n "$ns" link add br0 type bridge 2>/dev/null ||
    ! ip -n "$ns" link add veth0 type veth peer name veth1 2>/dev/null; then
    ip netns del "$ns"
    die "the kernel has no bridge or veth devices"
  fi
  ip netns del "$ns"
  [ -n "$(cgroup_hierarchies)" ] || die "the lab needs the controllers of cgroup v1, mounted below /sys/fs/cgroup"
}

# The cgroup hierarchies of this machine, one mount point a line: those of v1, and v2 if it is mounted, too.
cgroup_hierarchies() {
  awk '$3 ~ "^cgroup2?$" && $2 ~ "^/sys/fs/cgroup/" { print $2 }' /proc/mounts
}
