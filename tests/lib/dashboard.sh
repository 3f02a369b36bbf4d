# shellcheck shell=bash disable=SC2034,SC2154
# Two hosts for the tests of gpuadm dashboard: this machine, and an sshd of its own on loopback (root only) that can be ended. Both have a
# double of nvidia-smi with real output. Expects $top and $place.

dashboard_double() { # dashboard_double FOLDER
  mkdir -p "$1"
  cp "$top"/tests/lab/gpu-double/h200x2/* "$top/tests/lab/gpu-double/help-query-gpu.txt" "$1"
  sed "s|^here=.*|here=$1|; s|^programs=.*|programs=$1/programs|" "$top/tests/lab/gpu-double/nvidia-smi" >"$1/nvidia-smi"
  chmod +x "$1/nvidia-smi"
  : >"$1/programs"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# sshd_begin: starts the second host, on $sshd_port. Its GPU 1 is in quarantine, with a reason that is HTML, if this machine can give it an
# /etc of its own: then $sshd_apart is yes.
sshd_begin() {
  local path
  path=$place/double:$PATH
  if [ ! -e "$place/host_key" ]; then
    ssh-keygen -q -t ed25519 -N '' -C host -f "$place/host_key"
    ssh-keygen -q -t ed25519 -N '' -C user -f "$place/user_key"
    sshd_port=$(free_port)
    mkdir -p /run/sshd
    printf '%s\n' "Port $sshd_port" 'ListenAddress 127.0.0.1' "HostKey $place/host_key" "AuthorizedKeysFile $place/user_key.pub" 'StrictModes no' \
      'UsePAM no' 'PidFile none' "SetEnv PATH=$path" >"$place/sshd_config"
    sshd_apart=
    cp -a /etc "$place/etc"
    # shellcheck disable=SC2016
    ! unshare -m sh -c 'mount --bind "$1/etc" /etc' sh "$place" 2>/dev/null || sshd_apart=yes
    mkdir -p "$place/etc/gpuadm"
    printf '%s 0000:02:00.0 2026-11-27T02:00:00Z Xid 79 <b>4711</b>\n' "$("$place/double/nvidia-smi" --query-gpu=uuid --format=csv,noheader | sed -n 2p)" \
      >"$place/etc/gpuadm/quarantine"
  fi
  # shellcheck disable=SC2016
  if [ -n "$sshd_apart" ]; then
    unshare -m sh -c 'mount --bind "$1/etc" /etc && exec /usr/sbin/sshd -D -e -f "$1/sshd_config"' sh "$place" 2>>"$place/sshd.log" &
  else
    /usr/sbin/sshd -D -e -f "$place/sshd_config" 2>>"$place/sshd.log" &
  fi
  sshd_pid=$!
  until_true "sshd does not listen" listens "$sshd_port"
}

listens() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# sshd_end: ends the second host and its connections.
sshd_end() {
  local children
  children=$(cat "/proc/$sshd_pid/task/$sshd_pid/children" 2>/dev/null || :)
  # shellcheck disable=SC2086 # numbers
  kill -9 $children "$sshd_pid" 2>/dev/null || :
  wait "$sshd_pid" 2>/dev/null || :
}

# dashboard_cluster: cluster.yaml, with the second host if there is one.
dashboard_cluster() {
  printf '%s\n' 'apiVersion: gpuadm/v1alpha1' 'kind: GpuCluster' 'name: lab' 'hosts:' '  - { name: gpu1, local: true }' >cluster.yaml
  [ -z "${sshd_pid:-}" ] || printf '%s\n' "  - { name: gpu2, address: 127.0.0.1, port: $sshd_port, user: root, identityFile: $place/user_key," \
    "      hostKey: \"$(ssh-keygen -lf "$place/host_key.pub" | cut -d' ' -f2)\" }" 'ssh: { hostKeys: pinned }' >>cluster.yaml
}

# dashboard_hosts: both hosts, or only the first one without root and sshd; sets $root to yes or nothing. At the end of the test they are
# ended, and so is what dashboard_also_ends does.
dashboard_hosts() {
  trap 'dashboard_ended; rm -rf "$place"' EXIT
  root=
  if [ "$(id -u)" = 0 ] && [ -x /usr/sbin/sshd ]; then root=yes; else echo "left out: a host that goes away: needs root and openssh-server"; fi
  [ -z "$root" ] || sshd_begin
  dashboard_cluster
}
dashboard_also_ends() { :; }
dashboard_ended() {
  dashboard_also_ends
  [ -z "${dashboard_pid:-}" ] || kill "$dashboard_pid" 2>/dev/null || :
  [ -z "${sshd_pid:-}" ] || sshd_end
}

# dashboard_begin OPTION...: starts it; sets $dashboard_pid and $address.
dashboard_begin() {
  "$GPUADM" dashboard -f cluster.yaml "$@" >served 2>served.err </dev/null &
  dashboard_pid=$!
  until_true "it prints no address" grep -q '^http' served
  address=$(head -n 1 served)
}

# until_true MESSAGE COMMAND...: for at least a minute.
until_true() {
  local message=$1 i
  shift
  for ((i = 0; i < 600; i++)); do
    ! "$@" || return 0
    sleep 0.1
  done
  cp served out 2>/dev/null || :
  cp served.err err 2>/dev/null || :
  touch out err
  fail "$message"
}
