#!/usr/bin/env bash
# A user without rights prepares links for root on a host; the journal of a host is cut off; a worker says the machine id of another one
# while it is removed. Root writes and opens nothing for the user, undo names what it cannot restore, and the other node stays.
. "$(dirname "$0")/common"

hosts 1 one two three
on three sh -es <<'END'
useradd -m mallory
printf 'secret\n' >/root/secret && chmod 0600 /root/secret
runuser -u mallory -- sh -c 'echo mine >/home/mallory/f && mkdir -m 0777 /home/mallory/open && ln -s /etc /home/mallory/etc'
END
secret_is_safe() { [ "$(on three 'stat -c "%a %U" /root/secret && cat /root/secret')" = $'600 root\nsecret' ] || fail "root's file is no longer root's alone"; }
# Links at the names that root's programs could choose, made again and again.
on three 'cat >/home/mallory/plant && chmod 0755 /home/mallory/plant' <<'END'
#!/bin/bash
while :; do
  read -r _ _ _ _ last </proc/loadavg
  for ((i = last; i < last + 200; i++)); do ln -s /root/secret "/home/mallory/f.gpuadm.$i" 2>/dev/null; done
done
END
on three 'systemd-run --quiet --unit=mallory --uid=mallory /home/mallory/plant'

echo freight >freight
chmod 0644 freight
exits 0 gpuadm cp freight three --to /home/mallory/f -f cluster.yaml
secret_is_safe
[ "$(on three 'stat -c %U /home/mallory/f && cat /home/mallory/f')" = $'mallory\nfreight' ] || fail "the file is not mallory's"
exits 1 gpuadm cp freight three --to /home/mallory/open/f -f cluster.yaml
says "every user may write to /home/mallory/open"
exits 1 gpuadm cp freight three --to /home/mallory/etc/freight -f cluster.yaml
says "/home/mallory/etc is a symbolic link of mallory"
on three '[ ! -e /etc/freight ]' || fail "root followed the link"
exits 0 gpuadm undo three -f cluster.yaml --force -y
secret_is_safe
[ "$(on three 'cat /home/mallory/f')" = mine ] || fail "undo did not put the file back"
on three 'systemctl stop mallory'

# The journal ends in the middle of a line.
exits 0 gpuadm cp freight three --to /etc/freight-1 -f cluster.yaml
exits 0 gpuadm cp freight three --to /etc/freight-2 -f cluster.yaml
# shellcheck disable=SC2016 # of the host's shell
on three 'log=/var/lib/gpuadm/journal/log; at=$(grep -bF "/etc/freight-2" $log | head -n 1 | cut -d: -f1); truncate -s $((at + 22)) $log'
exits 1 gpuadm undo three -f cluster.yaml --all -y
says "a line of the journal is truncated or damaged, and its change is not undone: file /etc/freight-2"
on three '[ ! -e /etc/freight-1 ] && [ -e /etc/freight-2 ]' || fail "undo did not restore what it could"
exits 1 gpuadm undo three -f cluster.yaml --all --force -y
on three '[ ! -e /var/lib/gpuadm ]' || fail "the journal was not forgotten"
on three 'rm -f /etc/freight-2'

# A worker that says it is the machine of another one.
exits 0 gpuadm apply -f cluster.yaml --bundle "$bundle" -y
nodes() { administer one get nodes -o name | sort | paste -sd' '; }
[ "$(nodes)" = 'node/one node/three node/two' ] || fail "the cluster has $(nodes)"
on three 'cp /etc/machine-id /root/machine-id'
on two cat /etc/machine-id >its-id
on three 'cat >/etc/machine-id' <its-id
exits 3 gpuadm remove three -f cluster.yaml -y
complains "three has the machine id of the node two, but neither its name nor its address"
[ "$(nodes)" = 'node/one node/three node/two' ] || fail "the cluster has $(nodes)"
on three 'cat /root/machine-id >/etc/machine-id'
exits 0 gpuadm remove three -f cluster.yaml -y
says "is removed from the cluster (node three)"
[ "$(nodes)" = 'node/one node/two' ] || fail "the cluster has $(nodes)"
