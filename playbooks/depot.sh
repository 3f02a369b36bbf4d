# shellcheck shell=sh disable=SC2154
# The depot stores files that are being transferred to a host, by digest, and lets hosts forward them to each other (decision 15).
# Loaded after prelude.sh in the programs of uploads. Variables: bundle_sha256; depot_size, depot_from; for a pull depot_addresses,
# depot_port, depot_host_key, depot_key.

depot=$gpuadm_home/depot/sha256
depot_file=$depot/${bundle_sha256:-none}
depot_relay=/run/gpuadm/relay-$gpuadm_run

# depot_look: the state of the file: "depot whole", or the number of bytes.
depot_look() {
  if [ -f "$depot_file" ] && [ "$(sha256_of "$depot_file")" = "$bundle_sha256" ]; then
    echo "depot whole"
  else
    echo "depot $(depot_bytes)"
  fi
}
depot_bytes() { stat -c %s "$depot_file.part" 2>/dev/null || echo 0; }

# depot_take: receives the rest of the file on stdin. It is written to disk immediately, and gets its final name only with the
# correct checksum.
depot_take() {
  exec 3<&0 # background commands would have no stdin otherwise
  depot_flush >/dev/null 2>&1 &
  gpuadm_flush=$!
  gpuadm_sum=$(
    cat >>"$depot_file.part" <&3 &
    gpuadm_cat=$!
    depot_sum_of_what_comes "$gpuadm_cat" &
    wait "$gpuadm_cat" || :
    wait "$!"
  )
  exec 3<&-
  kill "$gpuadm_flush" 2>/dev/null || :
  wait "$gpuadm_flush" 2>/dev/null || :
  if [ "$gpuadm_sum" = "$bundle_sha256" ]; then
    sync "$depot_file.part" 2>/dev/null || :
    mv -f "$depot_file.part" "$depot_file"
    return 0
  fi
  if [ "$(depot_bytes)" -ge "$depot_size" ]; then
    rm -f "$depot_file.part"
    say "checksum mismatch: the received file was deleted; run again"
  else
    say "$(depot_bytes) of $depot_size bytes received: run again to resume the transfer"
  fi
  return 1
}

# depot_sum_of_what_comes WRITER: computes the checksum until the writer has exited. A file under 256 MiB that arrives within a second is
# read afterwards, still from memory, because two programs that alternate would cost more. Other files are read while they are written:
# ten times per second, cat continues where the last one ended. This takes half of the processor time of tail -f.
depot_sum_of_what_comes() {
  if [ "$((depot_size - $(depot_bytes)))" -lt "$((256 << 20))" ] && timeout 1 tail -f -s 0.02 --pid="$1" /dev/null; then
    depot_sum <"$depot_file.part"
  else
    {
      while kill -0 "$1" 2>/dev/null; do
        cat || break
        sleep 0.1
      done
      cat
    } <"$depot_file.part" | depot_sum
  fi
}

# depot_flush: flushes data that the kernel would hold for half a minute and for which the last sync would wait.
depot_flush() {
  while sleep 1 && kill -0 $$ && [ -e "$depot_file.part" ]; do sync -d "$depot_file.part"; done
}

# OpenSSL uses the processor's SHA instructions; coreutils takes up to eight times as long without them.
depot_sum() { if have openssl; then openssl dgst -sha256 -r; else sha256sum; fi | cut -d' ' -f1; }

# depot_open: creates the folder and the partial file, and verifies the free space.
depot_open() {
  journal_open
  (umask 077 && mkdir -p "$depot" && rm -f "$depot_file.placed")
  rm -f "$depot_file" # its checksum differs, or it would not be sent
  [ "$(depot_bytes)" -le "$depot_size" ] || rm -f "$depot_file.part"
  (umask 077 && : >>"$depot_file.part") || die "cannot write to $depot"
  gpuadm_need=$(((depot_size - $(depot_bytes)) / 1024 + 1))
  gpuadm_free=$(df -P -k "$depot" | awk 'NR == 2 { print $4 }')
  [ "$gpuadm_free" -gt "$gpuadm_need" ] ||
    die "$gpuadm_home has $((gpuadm_free / 1024)) MiB free, and the transfer needs $((gpuadm_need / 1024)) MiB: free disk space, then run again"
}

# depot_receive: receives the file from the client.
depot_receive() {
  depot_open
  if [ "$(depot_bytes)" != "$depot_from" ]; then die "$depot_file.part has changed since it was inspected: run again"; fi
  depot_take
}

# depot_pull: fetches the file from another host's relay. On failure it prints the received bytes and exits with 98; the client
# sends the rest.
depot_pull() {
  depot_open
  have ssh || { depot_look && exit 98; }
  gpuadm_keys=$depot_relay/pull
  (umask 077 && mkdir -p "$gpuadm_keys" && printf '%s\n' "$depot_key" >"$gpuadm_keys/key")
  trap 'rm -rf "$gpuadm_keys"; rmdir "$depot_relay" /run/gpuadm 2>/dev/null || :' EXIT
  trap 'exit 98' HUP INT TERM
  trap '' PIPE # the client may have disconnected
  for gpuadm_address in $depot_addresses; do
    printf '[%s]:%s %s\n' "$gpuadm_address" "$depot_port" "$depot_host_key" >"$gpuadm_keys/hosts"
    if ssh -F /dev/null -i "$gpuadm_keys/key" -p "$depot_port" -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes \
      -o UserKnownHostsFile="$gpuadm_keys/hosts" -o GlobalKnownHostsFile=/dev/null -o ClearAllForwardings=yes -o ConnectTimeout=5 \
      -o ServerAliveInterval=10 -o ServerAliveCountMax=3 -o LogLevel=ERROR "root@$gpuadm_address" "$bundle_sha256 $(depot_bytes) $depot_size" \
      </dev/null | head -c "$((depot_size - $(depot_bytes)))" | depot_take; then
      return 0
    fi
  done
  depot_look
  exit 98
}

# depot_serve: a separate sshd of this run, with its own keys, that serves only files of the depot; root's authorized_keys and the
# host's sshd are not changed. A file is served while it is still being received; if nothing arrives for half a minute, or for 5s
# without a program here that could receive it, the client is disconnected. The sshd stops, and all its files are removed, with the
# lock of the run. Prints the offer: addresses, port, host key, private key. Without sshd nothing is printed, and no host fetches
# from this one.
depot_serve() {
  if [ -s "$depot_relay/offer" ]; then
    cat "$depot_relay/offer"
    return 0
  fi
  gpuadm_sshd=$(PATH=$PATH:/usr/sbin command -v sshd) && have ssh-keygen && have setsid || return 0
  rm -rf "$depot_relay"
  (umask 077 && mkdir -p "$depot" "$depot_relay")
  mkdir -p /run/sshd
  ssh-keygen -q -t ed25519 -N '' -C gpuadm -f "$depot_relay/host" || { rm -rf "$depot_relay" && return 0; }
  ssh-keygen -q -t ed25519 -N '' -C gpuadm -f "$depot_relay/guest" || { rm -rf "$depot_relay" && return 0; }
  # shellcheck disable=SC2016 # expanded when the guest connects
  printf 'depot=%s program=%s\n%s\n' "$depot" "$gpuadm_lock/program" '# The rest of a file, and what is still to come of it: DIGEST FROM SIZE.
set -f -- $SSH_ORIGINAL_COMMAND
case $1 in "" | *[!0-9a-f]*) exit 1 ;; esac
case $2 in "" | *[!0-9]*) exit 1 ;; esac
case $3 in "" | *[!0-9]*) exit 1 ;; esac
at=$2 there=$2 idle=0
while [ "$at" -lt "$3" ]; do
  file=$depot/$1
  [ -f "$file" ] || file=$file.part
  before=$there there=$(stat -c %s "$file" 2>/dev/null || echo "$there")
  [ "$there" = "$before" ] || idle=0
  if [ "$there" -gt "$at" ]; then
    tail -c "+$((at + 1))" "$file" | head -c "$((there - at))" || exit 1
    at=$there
  else
    idle=$((idle + 1)) most=150
    [ -e "$program" ] || most=25
    [ "$idle" -le "$most" ] || exit 1
    sleep 0.2
  fi
done' >"$depot_relay/give"
  printf 'restrict,command="/bin/sh %s/give" %s\n' "$depot_relay" "$(cat "$depot_relay/guest.pub")" >"$depot_relay/guests"
  for _ in 1 2 3 4 5; do
    gpuadm_port=$((20000 + ($(od -An -N2 -tu2 /dev/urandom) % 12000)))
    printf '%s\n' "Port $gpuadm_port" "HostKey $depot_relay/host" 'PidFile none' "AuthorizedKeysFile $depot_relay/guests" \
      'AuthenticationMethods publickey' 'PermitRootLogin forced-commands-only' 'AllowUsers root' 'PasswordAuthentication no' \
      'KbdInteractiveAuthentication no' 'UsePAM yes' 'DisableForwarding yes' 'ClientAliveInterval 10' 'ClientAliveCountMax 3' \
      'PrintMotd no' 'LogLevel INFO' >"$depot_relay/config"
    setsid "$gpuadm_sshd" -D -f "$depot_relay/config" -E "$depot_relay/log" </dev/null >/dev/null 2>&1 &
    gpuadm_relay=$!
    if in_time 3 grep -q 'Server listening' "$depot_relay/log" 2>/dev/null; then break; fi
    kill "$gpuadm_relay" 2>/dev/null || :
    gpuadm_relay=
  done
  [ -n "$gpuadm_relay" ] || { rm -rf "$depot_relay" && return 0; }
  printf '%s %s\n' "$gpuadm_relay" "$(process_start "$gpuadm_relay")" >"$depot_relay/process"
  (umask 077 && {
    echo "offer $(depot_addresses_of_host)"
    echo "port $gpuadm_port"
    echo "host $(cut -d' ' -f1,2 "$depot_relay/host.pub")"
    cat "$depot_relay/guest"
  } >"$depot_relay/offer")
  depot_watch
  cat "$depot_relay/offer"
}

# depot_addresses_of_host: at most four addresses, first that of the default route's interface.
depot_addresses_of_host() {
  {
    ip -4 route get 192.0.2.1 2>/dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p'
    hostname -I 2>/dev/null | tr ' ' '\n'
  } | awk 'NF && !seen[$0]++' | head -n 4 | paste -sd' '
}

# depot_watch: removes the relay when the run has ended, or after 45s without a heartbeat.
depot_watch() {
  (
    trap '' HUP
    while sleep 2 && [ -d "$depot_relay" ]; do
      lock_is_held || break
      lock_program_runs || [ $(($(uptime_seconds) - $(cat "$gpuadm_lock/beat" 2>/dev/null || echo 0))) -lt 45 ] || break
    done
    [ ! -d "$depot_relay" ] || depot_relay_end # without it the run has ended properly, and another one may have begun
  ) </dev/null >/dev/null 2>&1 &
}

depot_relay_end() {
  depot_tidy
  gpuadm_pid='' gpuadm_start=none
  [ ! -f "$depot_relay/process" ] || read -r gpuadm_pid gpuadm_start <"$depot_relay/process"
  rm -rf "$depot_relay"
  rmdir /run/gpuadm 2>/dev/null || :
  # Its own processes and those that serve a client: the process group that setsid created.
  if [ "$(process_start "$gpuadm_pid")" = "$gpuadm_start" ]; then kill -- "-$gpuadm_pid" 2>/dev/null || kill "$gpuadm_pid" 2>/dev/null || :; fi
}

# Called when a step has installed the file: other hosts may still fetch it, or none does.
depot_placed() { [ "$?" -ne 101 ] || : >"$depot_file.placed"; }
depot_used() { [ "$?" -ne 101 ] || rm -f "$depot_file"; }

# depot_tidy: removes installed files, and keeps partial ones. While another run holds the lock, it removes nothing: the depot is in use.
depot_tidy() {
  lock_is_held || [ -z "$gpuadm_holder" ] || return 0
  for gpuadm_file in "$depot"/*.placed; do rm -f "${gpuadm_file%.placed}" "$gpuadm_file"; done
  rmdir "$depot" "$gpuadm_home/depot" 2>/dev/null || :
}

# depot_clear: the received file is installed, and no host fetches it any more.
depot_clear() {
  depot_relay_end
  rm -rf "$gpuadm_home/depot"
}

# depot_install_together COUNT MARK: installs files of the depot, at most four at a time. The functions item_1, item_2, ... set the
# variables and functions of an upload. Prints for each its output between marks, then its exit status and the hundredths of a second.
depot_install_together() {
  lock_enter
  journal_open
  gpuadm_results=$gpuadm_home/depot/results
  rm -rf "$gpuadm_results"
  (umask 077 && mkdir -p "$gpuadm_results") || step_end 102
  gpuadm_lanes=$(nproc 2>/dev/null || echo 1)
  [ "$gpuadm_lanes" -le 4 ] || gpuadm_lanes=4
  gpuadm_lane=0
  while [ "$gpuadm_lane" -lt "$gpuadm_lanes" ]; do
    gpuadm_lane=$((gpuadm_lane + 1))
    depot_lane "$gpuadm_lane" "$gpuadm_lanes" "$1" </dev/null &
  done
  wait
  gpuadm_item=0
  while [ "$gpuadm_item" -lt "$1" ]; do
    gpuadm_item=$((gpuadm_item + 1))
    printf '\n%s-begin-%s\n' "$2" "$gpuadm_item"
    cat "$gpuadm_results/$gpuadm_item.out" 2>/dev/null || :
    if [ -s "$gpuadm_results/$gpuadm_item" ]; then
      gpuadm_result=$(cat "$gpuadm_results/$gpuadm_item")
    else
      gpuadm_result=102 # it could not be written
      say_full_disks 2>&1
    fi
    printf '\n%s-end-%s %s\n' "$2" "$gpuadm_item" "$gpuadm_result"
  done
  rm -rf "$gpuadm_results"
  lock_leave
  exit 0
}
# depot_lane FIRST STEP COUNT: installs every STEP-th file.
depot_lane() {
  gpuadm_item=$1
  while [ "$gpuadm_item" -le "$3" ]; do
    gpuadm_began=$(cut -d' ' -f1 /proc/uptime | tr -d .)
    (depot_install "$gpuadm_item") >"$gpuadm_results/$gpuadm_item.out" 2>&1
    printf '%s %s\n' "$?" "$(($(cut -d' ' -f1 /proc/uptime | tr -d .) - gpuadm_began))" >"$gpuadm_results/$gpuadm_item"
    gpuadm_item=$((gpuadm_item + $2))
  done
}
# depot_install ITEM: in a subshell. The program holds the lock until the last one has ended.
# shellcheck disable=SC2317 # called by step_upload
depot_install() {
  lock_enter() { :; }
  lock_leave() { :; }
  "item_$1"
  depot_file=$depot/$bundle_sha256
  # shellcheck disable=SC2064 # depot_placed or depot_used
  trap "$depot_then" EXIT
  step_upload <"$depot_file"
}

# depot_step FUNCTION: runs it as a separate step; its output is for the client.
depot_step() {
  lock_enter
  (
    set -eu
    "$1"
  )
  gpuadm_rc=$?
  if [ "$gpuadm_rc" -eq 98 ]; then
    lock_leave
    exit 98
  fi
  [ "$gpuadm_rc" -eq 0 ] || step_end 102
  step_end 101
}
