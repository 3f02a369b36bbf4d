#!/usr/bin/env bash
# `gpuadm storage remove` deletes the empty mount point, and undo makes it again; through no link, and not below a user's folder as root.
. "$(dirname "$0")/common"

undoes() { # undoes FOLDER WAS
  step undo undo.sh <<END
kind=directory name=$1 was=$2 now='' reader=''
undo_check || undo_apply
undo_check
END
}

step_name=storage.unmount
mkdir -p srv/nas
works one storage.sh storage-mounts.sh <<END
storages='$(printf 'nas\tnfs\t%s\tnas.lab:/x\t-\t-\t-\t-' "$place/srv/nas")
'
storage_files=$place/files
storage_unit_path() { echo $place/no.mount; }
storage_each storage_unmount
END
[ ! -e srv/nas ] || fail "the mount point is left"
grep -q "^directory	$place/srv/nas	there	" home/journal/log || fail "the journal has: $(cat home/journal/log)"
undoes "$place/srv/nas" there
[ "$status" = 0 ] || fail "exit status $status"
[ "$(stat -c '%a %U' srv/nas)" = '755 root' ] || fail "the mount point is $(stat -c '%a %U' srv/nas)"
rm -r srv
undoes "$place/srv/nas" there
{ [ "$status" = 0 ] && [ -d srv/nas ]; } || fail "the mount point is not made with its parent"

# Created by gpuadm: removed if it is empty.
undoes "$place/srv/nas" absent
{ [ "$status" = 0 ] && [ ! -e srv/nas ]; } || fail "the folder is left"
mkdir srv/nas && touch srv/nas/theirs
undoes "$place/srv/nas" absent
{ [ "$status" = 0 ] && [ -e srv/nas/theirs ]; } || fail "a folder with a file"

# A user's folder on the way, and a link in it.
mkdir alices target && chown "$alice:" alices
as "$alice" -- ln -s "$place/target" alices/link
undoes "$place/alices/link/nas" there
{ [ "$status" != 0 ] && [ -z "$(ls -A target)" ]; } || fail "root followed the link"
undoes "$place/alices/nas" there
{ [ "$status" = 0 ] && [ "$(stat -c %U alices/nas)" = "$alice" ]; } || fail "the folder is $(stat -c %U alices/nas)"
