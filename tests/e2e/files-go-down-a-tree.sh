#!/usr/bin/env bash
# A file to three hosts: the client sends it once, hosts pass it on while it comes. Killed twice it continues from there, a host
# that dies meanwhile leaves the others theirs, and no key and no server of its own is left on any host.
. "$(dirname "$0")/common"

names=(a b c)
size=$((96 << 20))

# shellcheck disable=SC2154 # of common
for name in "${names[@]}"; do lab up "$name" --image bookworm-bare & booting+=($!); done
together "the boot of a host" "${booting[@]}"
"$top/tests/lib/lab-cluster" "${names[@]}" >cluster.yaml
openssl enc -aes-128-ctr -K 00 -iv 00 </dev/zero 2>/dev/null | head -c $size >freight || :
sum=$(sha256sum <freight | cut -d' ' -f1)

# 60 Mbit/s from the client, and from each host: time enough to be killed in.
ip netns exec "gpuadm-$GPUADM_LAB" tc qdisc replace dev lab0 root tbf rate 60mbit burst 256kb latency 100ms
for name in "${names[@]}"; do ip netns exec "gpuadm-$GPUADM_LAB-$name" tc qdisc replace dev eth0 root tbf rate 60mbit burst 256kb latency 100ms; done

sent() { ip netns exec "gpuadm-$GPUADM_LAB" cat /sys/class/net/lab0/statistics/tx_bytes; }
has() { on "$1" "stat -c %s /var/lib/gpuadm/depot/sha256/$sum$2 2>/dev/null || echo 0"; }
state() {
  on "$1" 'cat /root/.ssh/authorized_keys | sha256sum; stat -c "%a %U %y" /root/.ssh /root/.ssh/authorized_keys /etc/ssh/sshd_config; ls -A /run/gpuadm /tmp /var/tmp 2>/dev/null; ps -eo args | grep "[s]shd -D -f" || :'
}
copies() { begins cp freight --to /opt/freight -f cluster.yaml; }
killed() {
  kill -KILL "$running"
  wait "$running" 2>/dev/null || :
}
waits() { # waits SECONDS WHAT COMMAND...
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "gave up waiting: $what"
    sleep 0.3
  done
}
sum_parts() { echo $(($(has a .part) + $(has b .part) + $(has c .part))); }
for name in "${names[@]}"; do state "$name" >"before.$name"; done
before=$(sent)
third_is_there() { [ "$(sum_parts)" -gt $((size / 3)) ]; }
two_have_half() {
  local name half=0
  for name in "${names[@]}"; do
    [ "$(has "$name" .part)" -le $((size / 2)) ] && [ "$(has "$name" '')" = 0 ] && absent "$name" /opt/freight >/dev/null || half=$((half + 1))
  done
  [ "$half" -ge 2 ]
}
no_program_runs() { absent a /var/lib/gpuadm/lock/program && absent b /var/lib/gpuadm/lock/program; }
somebody_fetches() {
  local name
  for name in "${names[@]}"; do ! on "$name" 'ls -d /run/gpuadm/relay-*/pull >/dev/null 2>&1' || return 0; done
  return 1
}

# Killed while the client sends: the beginning stays.
copies
waits 240 "a third of the file is somewhere" third_is_there
killed
waits 240 "no program runs under the lock" no_program_runs
third_is_there || fail "what had arrived is gone"

# Killed while hosts pass it on: two of them have more than half.
copies
waits 240 "a host passes the file on" somebody_fetches
waits 240 "two have more than half of it" two_have_half
killed
is_as_before() { state "$1" 2>/dev/null | diff -q "before.$1" - >/dev/null; }
for name in "${names[@]}"; do
  waits 240 "$name is as it was before" is_as_before "$name"
done

exits 0 gpuadm cp freight --to /opt/freight -f cluster.yaml
for name in "${names[@]}"; do
  [ "$(on "$name" 'sha256sum </opt/freight' | cut -d' ' -f1)" = "$sum" ] || fail "$name has another file"
  is_as_before "$name" || { state "$name" | diff "before.$name" - >out || fail "$name is not as it was before"; }
  on "$name" 'test ! -e /var/lib/gpuadm/depot' || fail "$name keeps the depot"
done
total=$(($(sent) - before))
echo "the client sent $((total >> 20)) MiB for 3 times $((size >> 20)) MiB, killed twice"
[ "$total" -lt $((size * 13 / 10)) ] || fail "the client sent $total bytes, and the file has $size"
exits 0 gpuadm cp freight --to /opt/freight -f cluster.yaml
says "nothing to do"

# The first one dies in the middle: the others get all of it.
for name in "${names[@]}"; do on "$name" 'rm /opt/freight'; done
copies
waits 240 "a third of the file is somewhere" third_is_there
root=
for name in "${names[@]}"; do on "$name" 'ls -d /run/gpuadm/relay-*/pull >/dev/null 2>&1' || root=$name; done
lab kill "$root"
wait "$running" && fail "a run that lost $root says nothing of it"
for name in "${names[@]}"; do
  [ "$name" = "$root" ] || [ "$(on "$name" 'sha256sum </opt/freight' | cut -d' ' -f1)" = "$sum" ] || fail "$name has another file"
done
lab down "$root"
lab up "$root" --image bookworm-bare
"$top/tests/lib/lab-cluster" "${names[@]}" >cluster.yaml
exits 0 gpuadm cp freight --to /opt/freight -f cluster.yaml

# A disk without space for it: reported before a byte is sent, and nothing is written.
on a 'rm /opt/freight; mount -t tmpfs -o size=32m none /var/lib/gpuadm && mkdir -p /var/lib/gpuadm'
exits 1 gpuadm cp freight --to /opt/freight -f cluster.yaml
says "free disk space, then run again"
on a 'test ! -e /opt/freight' || fail "a part of it is there"
