#!/usr/bin/env bash
# A real CephFS of one OSD: with a wrong key it is not added; with its key it is mounted on both nodes by ceph-fuse, and pods on both write and
# read. The key is in no argument, log, unit or journal. A pod on a node where it is not mounted waits, and nothing is written to the disk.
. "$(dirname "$0")/common"

image=ceph-fuse-$(lab fitting containerd)
lab up ceph --image trixie-ceph >/dev/null &
booting=($!)
for name in one two; do lab up "$name" --image "$image" >/dev/null & booting+=($!); done
together "the boot of a host" "${booting[@]}"
"$top/tests/lib/lab-cluster" --control-planes 1 one two >cluster.yaml
exits 0 init -y
address=$(lab address ceph)
server=$(cat "$top/tests/lib/ceph-server")
key=$(on ceph sh -s "$address" <<<"$server") || fail "Ceph does not start"
[ ${#key} -gt 30 ] || fail "Ceph has no key: $key"
# FUSE is the kernel's, and a host of the lab only lacks the device.
for name in one two; do on "$name" '[ -e /dev/fuse ] || mknod -m 0666 /dev/fuse c 10 229'; done
(
  umask 077
  printf '%s\n' "$key" >ml.key
  printf '[client.ml]\n\tkey = %s\n' "$(on ceph ceph-authtool --gen-print-key)" >wrong.key
)

administer one taint nodes one node-role.kubernetes.io/control-plane:NoSchedule- >/dev/null 2>&1 || administer one taint nodes one node-role.kubernetes.io/master:NoSchedule- >/dev/null 2>&1 || :
add() { gpuadm storage add team cephfs --monitors "$address" --ceph-user ml --key-file "$1" -f cluster.yaml -y; }
# is_hidden: the key is not where others may read it.
is_hidden() {
  local name
  lacks -F "$key" out err cluster.yaml .local >found || fail "the key is in $(cat found)"
  for name in one two; do
    on "$name" sh -s >found 2>&1 <<END_OF_SEARCH || fail "the key is on $name: $(cat found)"
! { ps -eo args | grep -F '$key' | grep -vF 'grep -F'; } || exit 1
! { journalctl --no-pager --output=cat | grep -F '$key'; } || exit 1
# The shell that searches has it in its own memory only: it came on stdin.
for place in /var/log /etc/systemd /run/systemd /proc/mounts; do [ -e "\$place" ] || { echo "there is no \$place"; exit 1; }; done
found=\$(grep -rlF '$key' /var/log /var/lib/gpuadm /etc/systemd /run/systemd /etc/fstab /etc/kubernetes/gpuadm /proc/mounts 2>/dev/null)
[ -z "\$found" ] || { echo "\$found"; exit 1; }
for file in \$(grep -rlF '$key' /etc /srv/gpuadm 2>/dev/null); do
  [ "\$(stat -c '%u %a' "\$file")" = '0 600' ] || { stat "\$file"; exit 1; }
  case \$file in /etc/gpuadm/storage/team.*) ;; *) echo "\$file"; exit 1 ;; esac
done
END_OF_SEARCH
  done
}

for name in one two; do on "$name" '[ -d /var/lib/gpuadm/journal ]' || fail "$name has no journal to search"; done
began=$SECONDS
exits 1 add wrong.key
printf 'wrong key: %s s\n' "$((SECONDS - began))"
! grep -q 'name: team' cluster.yaml || fail "the cluster file was written"
says "cannot mount CephFS of the storage team from $address"
! grep -qF "$(sed -n 's/.*key = //p' wrong.key)" out err || fail "the key is printed"
began=$SECONDS
exits 0 add ml.key
printf 'gpuadm storage add: %s s\n' "$((SECONDS - began))"
is_hidden
for name in one two; do on "$name" 'grep -q "^ceph-fuse /srv/gpuadm/team fuse" /proc/mounts' || fail "$name has not mounted it"; done
exits 0 add ml.key
says "0 changed"
exits 0 gpuadm storage list -f cluster.yaml
grep -qE '^team +cephfs .* 2/2 +0 ' out || fail "the list is another"
exits 0 gpuadm storage claim models --size 1Gi --on team -f cluster.yaml
a_pod writes two models 'echo from-two >/data/file'
ends_well writes
# shellcheck disable=SC2016 # of the pod
a_pod reads one models 'read line </data/file && [ $line = from-two ] && echo from-one >/data/answer'
ends_well reads
[ "$(on two cat /srv/gpuadm/team/gpuadm-team/claims/default/models/answer)" = from-one ] || fail "the answer is not on the share"

# Not mounted on two.
on two 'systemctl stop srv-gpuadm-team.mount'
exits 1 gpuadm storage list -f cluster.yaml
says 'team on two: not mounted'
a_pod waits two models 'echo late >/data/late'
sleep 20
[ "$(administer one get pod waits -o 'jsonpath={.status.phase}')" = Pending ] || fail "a pod started without the share"
administer one get events --field-selector involvedObject.name=waits -o 'jsonpath={.items[*].message}' >out
says 'hostPath type check failed'
prints_nothing two 'ls -A /srv/gpuadm/team' || fail "something was written to the disk of two"
exits 0 add ml.key
ends_well waits
exits 0 gpuadm storage list -f cluster.yaml
is_hidden

# A reset takes mount and key away, and not the files.
exits 0 gpuadm reset -f cluster.yaml -y
is_hidden
for name in one two; do
  on "$name" '! ls -d /etc/gpuadm/storage /srv/gpuadm 2>/dev/null && ! grep "^ceph-fuse " /proc/mounts' >found || fail "the reset left on $name: $(cat found)"
done
on one 'umask 077 && cat >/root/key && mkdir /root/seen && ceph-fuse --id ml --keyfile /root/key -m '"$address"' /root/seen' <<<"$key" >out 2>&1 || fail "it cannot be mounted"
[ "$(on one cat /root/seen/gpuadm-team/claims/default/models/late)" = late ] || fail "the reset deleted files"
