# shellcheck shell=bash
# Many hosts on one machine, sourced by tests/bench/run: a client's and the hosts' network namespace, joined by a veth pair,
# and in the second one an sshd that answers on every address of 10.77.0.0/16. Each host has its own address and nothing
# else of its own. Nothing leaves the machine; fleet_down removes everything.

FLEET_PORT=22022
FLEET_PIDS=()

fleet_up() { # fleet_up HOSTS
  FLEET=$(mktemp -d "${TMPDIR:-/tmp}/gpuadm-bench.XXXXXX")
  CLIENT=gbc$$ SERVER=gbs$$
  mkdir -m 700 "$FLEET/home" "$FLEET/home/.ssh" "$FLEET/tmp"
  ssh-keygen -q -t ed25519 -N '' -C bench -f "$FLEET/home/.ssh/id_ed25519"
  ssh-keygen -q -t ed25519 -N '' -C host -f "$FLEET/host_key"
  fleet_addresses "$1" >"$FLEET/hosts"
  local key
  key=$(cut -d' ' -f1,2 "$FLEET/host_key.pub")
  sed "s|.*|[&]:$FLEET_PORT $key|" "$FLEET/hosts" >"$FLEET/home/.ssh/known_hosts"
  cat >"$FLEET/home/.ssh/config" <<E
Host *
  User root
  Port $FLEET_PORT
  IdentityFile ~/.ssh/id_ed25519
  IdentitiesOnly yes
  StrictHostKeyChecking yes
  GSSAPIAuthentication no
  LogLevel ERROR
E
  fleet_network
  fleet_sshd
}

fleet_addresses() { # fleet_addresses COUNT
  local i
  for ((i = 0; i < $1; i++)); do echo "10.77.$((i / 200)).$((i % 200 + 1))"; done
}

fleet_network() {
  ip netns add "$CLIENT"
  ip netns add "$SERVER"
  ip -n "$CLIENT" link add uplink type veth peer name uplink netns "$SERVER"
  ip -n "$CLIENT" address add 10.76.0.1/30 dev uplink
  ip -n "$SERVER" address add 10.76.0.2/30 dev uplink
  local side
  for side in "$CLIENT" "$SERVER"; do
    ip -n "$side" link set lo up
    ip -n "$side" link set uplink up
    # What one run learned about a route must not help the next one.
    ip netns exec "$side" sysctl -qw net.ipv4.tcp_no_metrics_save=1
  done
  ip -n "$CLIENT" route add 10.77.0.0/16 via 10.76.0.2
  ip -n "$SERVER" route add local 10.77.0.0/16 dev lo
}

fleet_sshd() {
  cat >"$FLEET/sshd_config" <<E
Port $FLEET_PORT
ListenAddress 0.0.0.0
HostKey $FLEET/host_key
AuthorizedKeysFile $FLEET/home/.ssh/id_ed25519.pub
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
UseDNS no
MaxStartups 1000
PrintMotd no
PrintLastLog no
PidFile none
LogLevel ERROR
Subsystem sftp /usr/lib/openssh/sftp-server
E
  mkdir -p /run/sshd
  # A home and logs of its own: nothing of this machine's takes part, and nothing is left in its records.
  # shellcheck disable=SC2016
  ip netns exec "$SERVER" sh -c \
    'mount -t tmpfs home /root && mount -t tmpfs logs /var/log && exec /usr/sbin/sshd -D -e -f "$0"' \
    "$FLEET/sshd_config" </dev/null >"$FLEET/sshd.log" 2>&1 &
  FLEET_SSHD=$!
  FLEET_PIDS+=("$FLEET_SSHD")
  local i
  for ((i = 0; i < 100; i++)); do
    fleet_client ssh "$(tail -n 1 "$FLEET/hosts")" true 2>/dev/null && return
    sleep 0.1
  done
  echo "bench: sshd did not answer within 10 s: $(cat "$FLEET/sshd.log")" >&2
  return 1
}

# Runs a command where the client is: its namespace, a home with nothing but .ssh, a plain environment.
fleet_client() {
  # shellcheck disable=SC2016
  ip netns exec "$CLIENT" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root USER=root \
    LANG=C.UTF-8 TMPDIR="$FLEET/tmp" sh -c 'mount --bind "$0" /root && cd / && exec "$@"' "$FLEET/home" "$@"
}

# Holds arriving packets on both sides, so that a round trip takes that long.
fleet_delay() { # fleet_delay PROGRAM MILLISECONDS
  local side i log
  for side in "$CLIENT" "$SERVER"; do
    ip netns exec "$side" iptables -I INPUT -i uplink -j NFQUEUE --queue-num 7
    log=$FLEET/delay.$side
    : >"$log"
    ip netns exec "$side" "$1" 7 "$(awk "BEGIN { print $2 / 2 }")" >"$log" 2>&1 &
    FLEET_PIDS+=($!)
    for ((i = 0; i < 50; i++)); do
      grep -q ready "$log" && break
      sleep 0.1
    done
    [ "$i" -lt 50 ] || { echo "bench: no delay within 5 s: $(cat "$log")" >&2; return 1; }
  done
}

fleet_no_delay() {
  local side pid
  for side in "$CLIENT" "$SERVER"; do ip netns exec "$side" iptables -F INPUT; done
  for pid in "${FLEET_PIDS[@]}"; do [ "$pid" = "$FLEET_SSHD" ] || kill "$pid" 2>/dev/null || true; done
  FLEET_PIDS=("$FLEET_SSHD")
}

fleet_down() {
  [ -n "${FLEET:-}" ] || return 0
  local side pid
  # What has ended already must not end this, too.
  for pid in "${FLEET_PIDS[@]}"; do kill "$pid" 2>/dev/null || true; done
  for side in "$CLIENT" "$SERVER"; do
    for pid in $(ip netns pids "$side" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
    ip netns del "$side" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  rm -rf "$FLEET"
  FLEET=''
  FLEET_PIDS=()
}
