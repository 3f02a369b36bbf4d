# shellcheck shell=bash
# The lab's network: one namespace with a bridge, in which the client stands, and one namespace a host.
# It has no route to the outside; an address that is not a host's is refused at once rather than left to a timeout.

network_up() {
  [ -e "/run/netns/$LAB_NS" ] && return 0
  ip netns add "$LAB_NS"
  ip -n "$LAB_NS" link set lo up
  ip -n "$LAB_NS" link add lab0 type bridge
  ip -n "$LAB_NS" addr add "$LAB_NET.1/24" dev lab0
  ip -n "$LAB_NS" link set lab0 up
  ip netns exec "$LAB_NS" sysctl -qw net.ipv4.ip_forward=1
  # What the client sees as /etc/hosts and /etc/resolv.conf.
  mkdir -p "/etc/netns/$LAB_NS"
  : >"/etc/netns/$LAB_NS/resolv.conf"
  printf '127.0.0.1 localhost\n' >"/etc/netns/$LAB_NS/hosts"
}

network_down() {
  if [ -e "/run/netns/$LAB_NS" ]; then ip netns del "$LAB_NS"; fi
  rm -rf "/etc/netns/$LAB_NS"
  rmdir /etc/netns 2>/dev/null || true
}

# A namespace for one host, joined to the bridge by a cable named after the host's number.
network_join() { # network_join NAME NUMBER
  local ns=$LAB_NS-$1
  [ -e "/run/netns/$ns" ] && return 0
  ip netns add "$ns"
  # The kernel deletes the cable of a namespace some time after the namespace.
  ip -n "$LAB_NS" link del "host$2" 2>/dev/null || true
  ip -n "$LAB_NS" link add "host$2" type veth peer name eth0 netns "$ns"
  ip -n "$LAB_NS" link set "host$2" master lab0 up
  ip -n "$ns" link set lo up
  # The same after a boot, as a real card's is.
  ip -n "$ns" link set eth0 address "$(printf '02:67:70:75:00:%02x' "$2")"
  ip -n "$ns" addr add "$LAB_NET.$2/24" dev eth0
  ip -n "$ns" link set eth0 up
  ip -n "$ns" route add default via "$LAB_NET.1"
}

network_leave() { # network_leave NAME
  if [ -e "/run/netns/$LAB_NS-$1" ]; then ip netns del "$LAB_NS-$1"; fi
}

lab_net() { # lab_net COMMAND...
  [ $# -gt 0 ] || die "net: which command?"
  [ -e "/run/netns/$LAB_NS" ] || die "no host is up in the lab '$LAB_ID'"
  exec ip netns exec "$LAB_NS" "$@"
}

lab_link() { # lab_link NAME down|up
  host_must_exist "${1:-}"
  case ${2:-} in
    up | down) ip -n "$LAB_NS" link set "host$(host_read "$1" number)" "$2" ;;
    *) die "link: down or up?" ;;
  esac
}
