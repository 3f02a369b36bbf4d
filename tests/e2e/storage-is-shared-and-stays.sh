#!/usr/bin/env bash
# Storage on two nodes, and on one that joins later. Pods on both write and read through a claim; a pod on a host where the share is not
# mounted waits, and nothing is written to the host's own disk; a server that does not answer ends the command at its deadline; what is in
# use is not removed; a reset takes the mounts away and leaves every file.
. "$(dirname "$0")/common"

ready_nodes 1 one two
mkdir share
leader() { cut -d' ' -f1 "/run/gpuadm-lab/$GPUADM_LAB/hosts/$1/leader"; }
mounts() { "$top/tests/lib/lab-share" "$place/share" /mnt/share "$(leader "$1")"; }

deletes() { administer one delete pod "$@" --now >/dev/null; }

# --- A folder that every host has ------------------------------------------------------------------------

# Not on every host: nothing is left, on the share or on hosts.
mounts one
exits 1 gpuadm storage add data path --path /mnt/share -f cluster.yaml -y
says "/mnt/share of the storage data does not exist on this host"
[ -z "$(ls -A share)" ] || fail "something was left: $(find share)"
absent one '/var/lib/gpuadm/storage/data.*' || fail "one still knows the storage"
! grep -q storage: cluster.yaml || fail "the cluster file was written"
# There, and another folder.
on two 'mkdir /mnt/share'
exits 1 gpuadm storage add data path --path /mnt/share -f cluster.yaml -y
says "it is not the same share"
prints_nothing two 'ls -A /mnt/share' || fail "the folder of another share was written to"
[ -z "$(ls -A share)" ] || fail "something was left: $(find share)"

mounts two
exits 0 gpuadm storage add data path --path /mnt/share -f cluster.yaml -y
says "gpuadm storage claim"
grep -q '  - name: data' cluster.yaml || fail "the cluster file does not have the storage"
on one 'cat /etc/kubernetes/gpuadm/cluster.yaml' | grep 'name: data' >/dev/null || fail "the stored cluster file does not have it"
[ "$(stat -c %a share/gpuadm-data)" = 700 ] || fail "other users may read the claims"
exits 0 gpuadm storage add data path --path /mnt/share -f cluster.yaml -y
says "0 changed"
exits 2 gpuadm storage add data path --path /mnt/another -f cluster.yaml -y
exits 0 gpuadm storage list -f cluster.yaml
grep -qE '^data +path +/mnt/share +2/2 +0 ' out || fail "the list is another"

exits 0 gpuadm storage claim models --size 1Gi --on data -f cluster.yaml
exits 2 gpuadm storage claim models --size 1Gi --on data -f cluster.yaml
complains "already has a claim named models"
exits 2 gpuadm storage claim more --size 1Gi --on dta -f cluster.yaml
complains "did you mean data"
a_pod writes two models 'echo from-two >/data/file && touch /data/other'
ends_well writes
[ "$(cat share/gpuadm-data/claims/default/models/file)" = from-two ] || fail "the file is not on the share"
# shellcheck disable=SC2016 # of the pod
a_pod reads one models 'read line </data/file && [ $line = from-two ] && echo from-one >/data/answer'
ends_well reads
deletes writes reads

# --- A share to which users may write ---------------------------------------------------------------------

chmod 0777 share
exits 1 gpuadm storage list -f cluster.yaml
says 'data on two: unsafe: every user may write to /mnt/share'
says 'chmod +t /mnt/share'
gpuadm doctor --only st.storage-folders -f cluster.yaml >out 2>err || :
says 'everyone can write to /mnt/share'
exits 1 gpuadm storage claim more --size 1Gi --on data -f cluster.yaml
complains 'every user may write to /mnt/share'
exits 3 gpuadm notebook create anna --storage models -f cluster.yaml
complains 'every user may write to /mnt/share'
prints_nothing one 'kubectl --kubeconfig /etc/kubernetes/admin.conf get deployments -o name' || fail "the notebook was created"
# What a user has put in the place of a claim is not mounted.
chmod 1777 share && mv share/gpuadm-data/claims/default/models kept && ln -s / share/gpuadm-data/claims/default/models
gpuadm doctor --only st.storage-folders -f cluster.yaml >out 2>err || :
says '/mnt/share/gpuadm-data/claims/default/models is not a folder'
exits 3 gpuadm notebook create anna --storage models -f cluster.yaml
complains 'claims/default/models is not a folder'
rm share/gpuadm-data/claims/default/models && mv kept share/gpuadm-data/claims/default/models
exits 0 gpuadm storage list -f cluster.yaml

# --- A share that is not mounted ---------------------------------------------------------------------------

on two 'umount /mnt/share'
exits 1 gpuadm storage list -f cluster.yaml
says 'data on two: not mounted'
a_pod waits two models 'echo lost >/data/lost'
sleep 20
[ "$(administer one get pod waits -o 'jsonpath={.status.phase}')" = Pending ] || fail "a pod started without the share"
administer one get events --field-selector involvedObject.name=waits -o 'jsonpath={.items[*].message}' >out
says 'hostPath type check failed'
prints_nothing two 'ls -A /mnt/share' || fail "something was written to the disk of two"
# The host is not made to look as if it were the share.
exits 1 gpuadm storage add data path --path /mnt/share -f cluster.yaml -y
prints_nothing two 'ls -A /mnt/share' || fail "something was written to the disk of two"
[ -s share/gpuadm-data/id ] || fail "the storage of the cluster was removed"
mounts two
ends_well waits
deletes waits
exits 0 gpuadm storage list -f cluster.yaml

# --- A folder on one host ------------------------------------------------------------------------------------

exits 2 gpuadm storage add scratch local --host tow --path /data/scratch -f cluster.yaml -y
exits 0 gpuadm storage add scratch local --host two --path /data/scratch -f cluster.yaml -y
exits 0 gpuadm storage claim cache --size 1Gi --on scratch --owner 1000:1000 -f cluster.yaml
[ "$(on two stat -c %a:%u:%g /data/scratch/gpuadm-scratch/claims/default/cache)" = 770:1000:1000 ] || fail "the folder has another owner"
a_pod local two cache 'echo kept >/data/kept'
ends_well local
deletes local

# A full disk: named as such, and nothing is left.
on two 'mkdir /srv/full && mount -t tmpfs -o size=64k tmpfs /srv/full && { head -c 1m /dev/zero >/srv/full/theirs 2>/dev/null || :; }'
exits 1 gpuadm storage add full local --host two --path /srv/full -f cluster.yaml -y
says "the storage full at /srv/full is full"
! grep -q 'name: full' cluster.yaml || fail "the cluster file was written"
on one '[ -s /etc/kubernetes/gpuadm/cluster.yaml ] && ! grep "name: full" /etc/kubernetes/gpuadm/cluster.yaml' || fail "the stored cluster file has it, so hosts that join would get it"
[ "$(on two 'ls -A /srv/full')" = theirs ] || fail "something was left: $(on two 'ls -A /srv/full')"
on two 'umount /srv/full && rmdir /srv/full'

# --- A server that does not answer -----------------------------------------------------------------------------

# The lab's kernel has no NFS: this program waits like mount.nfs does for a server behind a firewall.
for name in one two; do on "$name" 'printf "#!/bin/sh\nexec sleep 1000\n" >/sbin/mount.nfs && chmod 0755 /sbin/mount.nfs'; done
began=$SECONDS
exits 1 gpuadm storage add nas nfs --server 10.77.0.250 --export /export -f cluster.yaml -y
says "the server did not answer within 60s"
[ $((SECONDS - began)) -lt 200 ] || fail "it took $((SECONDS - began)) s"
! grep -q 'name: nas' cluster.yaml || fail "the cluster file was written"
for name in one two; do
  on "$name" '[ ! -e /etc/systemd/system/srv-gpuadm-nas.mount ] && ! systemctl is-active --quiet srv-gpuadm-nas.mount && rm /sbin/mount.nfs' || fail "$name has the mount"
done

# --- A host that joins later -----------------------------------------------------------------------------------

lab up three
"$top/tests/lib/lab-cluster" --control-planes 1 one two three | sed -n '/name: three/p' >host
sed -i '/name: two,/r host' cluster.yaml
# Without the share it does not become part of the storage.
exits 1 gpuadm join three -f cluster.yaml --bundle "$bundle" -y
says "/mnt/share of the storage data does not exist on this host"
mounts three
exits 0 gpuadm join three -f cluster.yaml --bundle "$bundle" -y
exits 0 gpuadm storage list -f cluster.yaml
grep -qE '^data +path +/mnt/share +3/3 +1 ' out || fail "the host that joined does not have the storage"
administer one wait --for=condition=Ready --timeout=240s node/three >/dev/null || fail "three is not Ready"
# shellcheck disable=SC2016 # of the pod
a_pod joined three models 'read line </data/file && [ $line = from-two ] && echo from-three >/data/third'
ends_well joined
[ "$(cat share/gpuadm-data/claims/default/models/third)" = from-three ] || fail "the file is not on the share"
deletes joined

# --- Removal -----------------------------------------------------------------------------------------------------

exits 3 gpuadm storage remove data -f cluster.yaml -y
complains "has claims: default/models"
a_pod holds one models 'sleep 1000'
administer one wait --for=condition=Ready --timeout=240s pod/holds >/dev/null || fail "the pod does not run"
exits 3 gpuadm storage remove data --purge -f cluster.yaml -y
complains "pods use claims of the storage data: default/holds"
deletes holds
administer one delete pvc models >/dev/null
exits 0 gpuadm storage remove data -f cluster.yaml -y
says "the data stays: /mnt/share/gpuadm-data"
! grep -q 'name: data' cluster.yaml || fail "the cluster file has the storage"
[ "$(cat share/gpuadm-data/claims/default/models/answer)" = from-one ] || fail "files were lost"
administer one get pv -o name >volumes || fail "the volumes cannot be listed"
lacks -F gpuadm-data volumes || fail "the volume is left"

# Again on the files that stayed; then with the files.
exits 0 gpuadm storage add data path --path /mnt/share -f cluster.yaml -y
exits 0 gpuadm storage claim models --size 1Gi --on data -f cluster.yaml
complains "has existed before"
exits 0 gpuadm storage remove data --purge -f cluster.yaml -y
[ -z "$(ls -A share)" ] || fail "the purge left $(ls -A share)"

# --- Reset ---------------------------------------------------------------------------------------------------------

echo the-operators >share/file
exits 0 gpuadm storage add data path --path /mnt/share -f cluster.yaml -y
exits 0 gpuadm reset -f cluster.yaml -y
[ "$(on two cat /data/scratch/gpuadm-scratch/claims/default/cache/kept)" = kept ] || fail "the reset deleted files"
[ "$(cat share/file) $(wc -l <share/gpuadm-data/id)" = "the-operators 1" ] || fail "the reset deleted files of the share"
for name in one two three; do
  on "$name" '[ ! -e /etc/systemd/system/srv-gpuadm-nas.mount ] && [ ! -e /srv/gpuadm ] && [ ! -e /var/lib/gpuadm ]' || fail "the reset left something on $name"
done
