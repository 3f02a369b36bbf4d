#!/usr/bin/env bash
# The marker of a storage is made once; where it is missing later, the share is not mounted, and nothing is written there. Units wait for
# nothing that a boot waits for; a key is in a file of root's and in no unit.
. "$(dirname "$0")/common"
command -v systemd-escape >/dev/null || skip 'systemd-escape is not installed'

mkdir books
cp "$playbooks"/*.sh books/
sed -i "s#/etc/kubernetes/pki/ca.crt#$place/ca.crt#g" books/storage.sh books/storage-marker.sh
playbooks=$place/books
echo ours >ca.crt

lines() { printf '%s\t' "$@" | sed 's/\t$/\n/'; }
shared() { lines data path "$place/share" "$place/share" - - - maker; }
share_step() { # share_step RUN FUNCTION: the function for the storage in $line
  step "$1" storage.sh storage-mounts.sh storage-marker.sh <<END
storages='$line
'
keys='team AQDLvb1nAAAAABAA0000000000000000000000==
'
storage_files=$place/files
storage_each $2
END
}
makes() {
  share_step "$1" storage_marker_put
  [ "$status" = 0 ] || fail "exit status $status"
}

mkdir share
line=$(shared)
share_step one storage_marker_check
[ "$status" = 1 ] || fail "a share without a marker counts as set up"
makes one
[ -s share/gpuadm-data/id ] || fail "no marker"
[ "$(stat -c %a share/gpuadm-data share/gpuadm-data/claims | sort -u)" = 700 ] || fail "users may read the claims"
id=$(cat share/gpuadm-data/id)
share_step two storage_marker_check
[ "$status" = 0 ] || fail "the marker is not found"
makes two
[ "$(cat share/gpuadm-data/id)" = "$id" ] || fail "the marker was made again"

# A share that cannot be read is not one that every node sees.
sees() { # sees RUN: the file of the node two
  step "$1" storage.sh storage-marker.sh <<END
storages='$line
'
node_names=two
in_time() { shift && "\$@"; }
storage_each storage_seen_check
END
}
sees seen-1
[ "$status" = 3 ] || fail "exit status $status"
complains "does not see the file that two has written"
echo "$id" >share/gpuadm-data/nodes/two
sees seen-2
[ "$status" = 0 ] || fail "exit status $status"
mv share/gpuadm-data unmounted
sees seen-3
[ "$status" = 3 ] || fail "exit status $status"
complains "cannot read $place/share/gpuadm-data/id of the storage data"
mv unmounted share/gpuadm-data && rm share/gpuadm-data/nodes/two

# A failed add deletes what it has created, and nothing that has claims or that existed before.
withdraws() {
  share_step "$1" storage_withdraw
  [ "$status" = 0 ] || fail "exit status $status"
}
mkdir share/gpuadm-data/claims/default
withdraws back-1
[ -s share/gpuadm-data/id ] || fail "a folder with claims was deleted"
rmdir share/gpuadm-data/claims/default && touch share/gpuadm-data/file
withdraws back-2
[ -s share/gpuadm-data/id ] || fail "a folder with another file was deleted"
rm share/gpuadm-data/file && mkdir -p share/gpuadm-data/nodes && echo "$id" >share/gpuadm-data/nodes/two
withdraws back-3
[ -z "$(ls -A share)" ] || fail "left: $(find share)"
share_step back-4 storage_withdraw_check
[ "$status" = 0 ] || fail "something is to be withdrawn again"
share_step back-5 storage_unmount
[ "$status" = 0 ] || fail "exit status $status"
[ -z "$(ls home/storage/data.* 2>/dev/null)" ] || fail "the host still knows the storage"
makes again
id=$(cat share/gpuadm-data/id)
echo another >share/gpuadm-data/id
withdraws back-6
[ "$(cat share/gpuadm-data/id)" = another ] || fail "the marker of another cluster was deleted"
echo "$id" >share/gpuadm-data/id

# Not mounted any more.
mv share mounted && mkdir share
share_step three storage_marker_put
[ "$status" = 3 ] || fail "exit status $status"
complains "mount the share again"
[ -z "$(ls -A share)" ] || fail "written where the share is not mounted: $(ls -A share)"

# A user's link or folder in place of the marker.
line=$(lines other path "$place/share" "$place/share" - - - maker)
mkdir target && ln -s "$place/target" share/gpuadm-other
share_step link storage_marker_put
[ "$status" = 3 ] || fail "exit status $status"
complains "is a symbolic link"
[ -z "$(ls -A target)" ] || fail "root followed the link: $(ls -A target)"
rm share/gpuadm-other && mkdir -m 0700 share/gpuadm-other && chown 1000 share/gpuadm-other
share_step folder storage_marker_put
[ "$status" = 3 ] || fail "exit status $status"
complains "does not belong to root"
[ -z "$(ls -A share/gpuadm-other)" ] || fail "root wrote to a user's folder"
rm -r share/gpuadm-other

# A storage that gpuadm mounts, and that is not mounted.
line=$(lines nas nfs "$place/nas" nas.lab:/x - - - maker)
mkdir nas
share_step four storage_marker_put
[ "$status" = 3 ] || fail "exit status $status"
complains "is not mounted"
[ -z "$(ls -A nas)" ] || fail "written where the share is not mounted"

# The unit, its name, and the files of a CephFS client.
show() {
  step five storage.sh storage-mounts.sh <<END
storages='$line
'
keys='team AQDLvb1nAAAAABAA0000000000000000000000==
'
storage_files=$place/files
show_one() {
  storage_unit
  storage_unit_text
  printf '%s' "\$content"
}
storage_each show_one
END
  [ "$status" = 0 ] || fail "exit status $status"
}
line=$(lines my-data nfs /srv/gpuadm/my-data '[fd00::5]:/export' - - vers=4.2,noatime -)
show
says 'srv-gpuadm-my\x2ddata.mount'
says 'What=[fd00::5]:/export'
says 'Where=/srv/gpuadm/my-data'
says 'Options=vers=4.2,noatime'
says 'TimeoutSec=60'
says 'DefaultDependencies=no'
! grep -q 'remote-fs.target' out || fail "a boot waits for the server"
line=$(lines team cephfs /srv/gpuadm/team 10.0.0.1,10.0.0.2 /ml ml - -)
show
grep -qxE 'Type=(fuse.)?ceph' out || fail "no type"
! grep -q AQDL out || fail "the key is in the unit"
share_step six storage_client_put
[ "$status" = 0 ] || fail "exit status $status"
[ "$(stat -c %a files/team.key files/team.keyring files/team.conf | sort -u)" = 600 ] || fail "users may read the key"
grep -qx 'mon host = 10.0.0.1,10.0.0.2' files/team.conf
grep -qx 'client mountpoint = /ml' files/team.conf
[ "$(cat files/team.key)" = AQDLvb1nAAAAABAA0000000000000000000000== ]
# Without a key, the existing one stays.
share_step seven storage_client_check
[ "$status" = 0 ] || fail "the files are written again"

# A purge is refused if another cluster has used the folder, or if that is unknown.
rmdir share && mv mounted share
line=$(shared)
ours=$(sha256sum <ca.crt | cut -d' ' -f1)
refused() { # refused TEXT
  for gpuadm_function in storage_purge_may storage_purge; do
    share_step refused "$gpuadm_function"
    [ "$status" = 3 ] || fail "exit status $status"
    complains "$1"
    [ -s share/gpuadm-data/id ] || fail "the folder was deleted"
  done
}
[ "$(ls -A share/gpuadm-data/clusters)" = "$ours" ] || fail "the cluster is not recorded"
share_step may storage_purge_may
[ "$status" = 0 ] || fail "exit status $status"
echo theirs >ca.crt
theirs=$(sha256sum <ca.crt | cut -d' ' -f1)
refused "does not record that this cluster uses it"
share_step record storage_marker_check
[ "$status" = 1 ] || fail "a second cluster counts as recorded"
makes record
refused "another cluster has used it, too"
complains "$ours"
echo ours >ca.crt
refused "rm $theirs"
mv share/gpuadm-data/clusters clusters
refused "touch $place/share/gpuadm-data/clusters/$ours"
share_step record storage_marker_check
[ "$status" = 0 ] || fail "a folder of an earlier gpuadm is changed"
makes record
refused "an earlier gpuadm"
mv clusters share/gpuadm-data/clusters
mv ca.crt ca
refused "look at $place/ca.crt"
mv ca ca.crt
rm "share/gpuadm-data/clusters/$theirs"

# A purge deletes the marker, follows no link, and deletes nothing else.
echo theirs >share/theirs
mkdir -p share/gpuadm-data/claims/default/a
ln -s "$place/share/theirs" share/gpuadm-data/claims/default/a/link
share_step eight storage_purge
[ "$status" = 0 ] || fail "exit status $status"
[ "$(ls -A share)" = theirs ] || fail "the purge left $(ls -A share)"
[ "$(cat share/theirs)" = theirs ] || fail "the purge changed a file of others"
