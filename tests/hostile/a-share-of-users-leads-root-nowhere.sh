#!/usr/bin/env bash
# A share to which users may write: root writes through no link that a user puts there, refuses a folder in which gpuadm-NAME could be
# replaced, and says so wherever a pod would use it. In a folder like /tmp, users can replace only what is theirs.
. "$(dirname "$0")/common"

lines() { printf '%s\t' "$@" | sed 's/\t$/\n/'; }
kind=path folder=$place/share
share_step() { # share_step RUN: the program on stdin, for the storage
  local program
  program=$(cat)
  step "$1" storage.sh storage-mounts.sh storage-marker.sh storage-class.sh <<END
storages='$(lines data "$kind" "$folder" "$folder" - - - maker)
'
storage_cluster() { gpuadm_cluster=0123; }
$program
END
}
calls() { share_step "$1" <<<"storage_each $2"; }
claim() { # claim ACTION
  status=0
  storage_name=data storage_kind=$kind storage_place=$folder marker=$folder/gpuadm-data \
    action=$1 namespace=default name=models mode=0777 owner='' sh "$playbooks/storage-claim.sh" >out 2>err || status=$?
}
lists() {
  status=0
  storages="$(lines data "$kind" "$folder")" sh "$playbooks/read/storage.sh" >out 2>err || status=$?
}
secret

# --- A marker that is replaced the moment root makes it ----------------------------------------------------
mkdir -m 0777 share
mkdir own && chown "$mallory:" own
# shellcheck disable=SC2016 # of the inner shell
as "$mallory" -- sh -c 'ln -s "$1/secret" own/id.new && mkdir -m 0777 own/clusters && ln -s "$1/secret" own/clusters/0123.new' sh "$place"
swaps "$folder" gpuadm-data "$place/own"
for run in $(seq 1 "${GPUADM_TRIES:-10}"); do
  calls "race-$run" storage_marker_put
  secret_is_safe
  [ "$status" = 3 ] || fail "written to a share on which a user may replace everything"
  complains "every user may write to $folder"
  complains "run chmod +t $folder"
done
# The same on a share that users may write to and that is sticky.
chmod 1777 share
for run in $(seq 1 "${GPUADM_TRIES:-10}"); do
  calls "sticky-$run" storage_marker_put
  secret_is_safe
  [ "$status" = 0 ] || fail "exit status $status"
  [ "$(wc -l <share/gpuadm-data/clusters/0123) $(stat -c '%U %a' share/gpuadm-data)" = '1 root 700' ] || fail "the marker was replaced"
  rm -r share/gpuadm-data home/storage
done
rm goes-on && wait
rm -rf share
: >goes-on

# --- A user owns the share, or a folder above it -----------------------------------------------------------
mkdir share && chown "$mallory:" share
for kind in path local nfs; do
  calls "owner-$kind" storage_hold
  [ "$status" = 3 ] || fail "a share of a user was entered"
  complains "$folder, the folder of the storage data, belongs to $mallory"
  complains "run chown root:root $folder"
done
kind=path
# Nobody is root on a server with root_squash; on a disk of the host it is a user.
chown 65534 share
calls nobody storage_hold
[ "$status" = 0 ] || fail "exit status $status"
kind=local calls nobody-local storage_hold
[ "$status" = 3 ] || fail "a folder of nobody was entered on a disk"
chmod 0777 share
calls nobody-all storage_hold
complains "every user may write to $folder"
chown root: share && chgrp "$mallory" share && chmod 0775 share
kind=local calls group storage_hold
complains "the group $mallory may write to $folder"
rmdir share
mkdir above && chown "$mallory:" above && mkdir above/share
folder=$place/above/share
for kind in path local; do
  calls "above-$kind" storage_folder_check
  [ "$status" = 3 ] || fail "a share below a user's folder was entered"
  complains "$place/above belongs to $mallory"
done
chown root: above && chmod 0777 above
calls all storage_folder_check
complains "every user may write to $place/above"
folder=$place/above/new kind=local
calls new storage_folder_put
[ "$status" = 3 ] || fail "a folder was made where every user may write"
[ ! -e "$folder" ] || fail "a folder was made where every user may write"
chmod 0755 above
calls new storage_folder_put
[ "$status $(stat -c '%U %a' "$folder")" = '0 root 755' ] || fail "the folder of a local storage is not made"

# --- A share that a user replaces later ----------------------------------------------------------------------
rm -rf above && mkdir -m 1777 share
kind=path folder=$place/share
calls again storage_marker_put
claim make
[ "$status" = 0 ] || fail "exit status $status"
says made
claim look
[ "$status" = 0 ] || fail "exit status $status"
lists
[ "$(cut -f 2 out)" = mounted ] || fail "the storage is not listed as mounted"
replaced() { # replaced TEXT: no claim is made, and no pod is started
  local action
  lists
  [ "$(cut -f 1,2 out)" = "$(printf 'data\tunsafe')" ] || fail "the list says $(cut -f 2 out)"
  says "$1"
  for action in make look drop purge class class-drop; do
    claim "$action"
    [ "$status" != 0 ] || fail "$action works on a folder of a user"
    complains "$1"
  done
  calls replaced storage_marker_check
  [ "$status" != 0 ] || fail "a folder of a user counts as set up"
  calls replaced storage_share_check
  calls replaced storage_purge
  secret_is_safe
}
chmod 0777 share
as "$mallory" -- sh -c 'cd share && mv gpuadm-data away && mkdir -p gpuadm-data/claims/default && echo id >gpuadm-data/id && ln -s / gpuadm-data/claims/default/models && chmod -R 0777 gpuadm-data'
replaced "every user may write to $folder"
# Repaired as the message says: the folder of the user is not taken for root's.
chmod 1777 share
replaced "$folder/gpuadm-data does not belong to root or nobody (65534) with mode 0700"
# A link to root's own marker is not the marker.
as "$mallory" -- sh -c 'rm -r share/gpuadm-data && ln -s away share/gpuadm-data'
replaced "$folder/gpuadm-data is a symbolic link"
rm share/gpuadm-data && mv share/away share/gpuadm-data
claim look
[ "$status" = 0 ] || fail "exit status $status"

# While the storage is being removed.
calls begins storage_purge_begin
[ "$status" = 0 ] || fail "exit status $status"
for action in make look; do
  claim "$action"
  [ "$status" = 3 ] || fail "exit status $status: $action of a storage that is being removed"
  complains "the storage data is being removed"
done
calls check storage_marker_check
[ "$status" = 1 ] || fail "a storage that is being removed counts as set up"
calls ends storage_purge_end
claim look
[ "$status" = 0 ] || fail "exit status $status"
calls begins storage_purge_begin
calls added storage_marker_put
[ ! -e share/gpuadm-data/removal ] || fail "a storage that was added again is still being removed"
claim look
[ "$status" = 0 ] || fail "exit status $status"

# Every part of the path to the files of a claim.
planted() { # planted PATH TEXT
  mv "share/gpuadm-data/$1" kept && ln -s / "share/gpuadm-data/$1"
  claim look
  [ "$status" = 3 ] || fail "exit status $status: $1 may be a link"
  complains "$2"
  claim make
  [ "$status" = 3 ] || fail "exit status $status: $1 may be a link"
  rm "share/gpuadm-data/$1" && mv kept "share/gpuadm-data/$1"
}
planted claims "$folder/gpuadm-data/claims is a symbolic link"
planted claims/default "$folder/gpuadm-data/claims/default is a symbolic link"
planted claims/default/models "$folder/gpuadm-data/claims/default/models is not a folder"
for part in claims claims/default; do
  chown "$mallory" "share/gpuadm-data/$part"
  claim look
  [ "$status" = 3 ] || fail "$part may be a user's"
  complains "$folder/gpuadm-data/$part does not belong to root"
  chown root "share/gpuadm-data/$part" && chmod 0777 "share/gpuadm-data/$part"
  claim look
  [ "$status" = 3 ] || fail "$part may be everybody's"
  chmod 0700 "share/gpuadm-data/$part"
done
ln -s "$place" share/gpuadm-data/volumes
claim class
[ "$status" = 3 ] || fail "a link is taken for the folder of the default StorageClass"
rm share/gpuadm-data/volumes
claim look
[ "$status" = 0 ] || fail "exit status $status"

# --- What is held stays the one that was inspected ---------------------------------------------------------
# Whatever the path leads to afterwards, root writes and deletes in the folder that it inspected.
rm -r share/gpuadm-data home/storage && chmod 0755 share
mkdir theirs && ln -s "$place/secret" theirs/id.new && mkdir -p theirs/claims/default/models && echo files >theirs/claims/default/models/file
share_step held <<'END'
write() { limit_of 20 "$@"; }
storage_do() { # after the inspection, another folder is at the path
  case $1 in
    sh | rm | rmdir) [ -e "$storage_place.held" ] || { mv "$storage_place/gpuadm-data" "$storage_place.held" && cp -a "$storage_place/../theirs" "$storage_place/gpuadm-data"; } ;;
  esac
  limit_of 20 "$@"
}
storage_each storage_marker_put
END
secret_is_safe
[ -s share.held/id ] || fail "the id is not where root has looked: $(find share share.held)"
[ -z "$(find share/gpuadm-data -name id -o -path "*/clusters/*")" ] || fail "root wrote to the other folder"
rm -r share/gpuadm-data && mv share.held share/gpuadm-data
claim make
share_step purges <<'END'
rm() {
  [ -e "$storage_place.held" ] || { mv "$storage_place/gpuadm-data" "$storage_place.held" && cp -a "$storage_place/../theirs" "$storage_place/gpuadm-data"; }
  command rm "$@"
}
storage_each storage_purge
END
[ "$(cat share/gpuadm-data/claims/default/models/file)" = files ] || fail "the purge deleted another folder"
[ -z "$(ls -A share.held)" ] || fail "the purge left $(find share.held)"
