#!/usr/bin/env bash
# The files of a claim are deleted only if this cluster alone uses the storage: a claim of another cluster with the same name has the same
# folder.
. "$(dirname "$0")/common"

mkdir books
cp "$playbooks"/*.sh books/
sed -i "s#/etc/kubernetes/pki/ca.crt#$place/ca.crt#g" books/storage.sh
echo ours >ca.crt
ours=$(sha256sum <ca.crt | cut -d' ' -f1)
marker=$place/gpuadm-data
mkdir -m 0700 "$marker"
mkdir -p "$marker/clusters" "$marker/claims/default/anna"
echo id >"$marker/id"
echo work >"$marker/claims/default/anna/file"
purge() {
  status=0
  action=purge storage_name=data storage_kind=path storage_place=$place marker=$marker namespace=default name=anna \
    sh books/storage-claim.sh >out 2>err || status=$?
}
kept() { # kept TEXT
  purge
  [ "$status" != 0 ] || fail "exit status $status"
  complains "$1"
  [ -e "$marker/claims/default/anna/file" ] || fail "the file is deleted"
}
touch "$marker/clusters/$ours" "$marker/clusters/two"
kept "several clusters use $marker"
# Another cluster alone, or none.
rm "$marker/clusters/$ours"
kept "$marker does not record that this cluster uses it"
rm "$marker/clusters/two"
kept "$marker does not record that this cluster uses it"
touch "$marker/clusters/$ours"
mv ca.crt ca
kept "$marker does not record that this cluster uses it"
mv ca ca.crt
# A list that cannot be read is not a list of one.
mkdir bin
printf '#!/bin/sh\nexit 2\n' >bin/ls && chmod +x bin/ls
sed -i "s#^PATH=#PATH=$place/bin:#" books/prelude.sh
kept ""
rm bin/ls
# The files are those of the storage, also where the claim is a link.
mkdir theirs && echo theirs >theirs/file && mv "$marker/claims/default/anna" anna && ln -s "$place/theirs" "$marker/claims/default/anna"
purge
[ "$(cat theirs/file)" = theirs ] || fail "the purge followed a link"
rm -f "$marker/claims/default/anna" && mv anna "$marker/claims/default/anna"
purge
[ "$status" = 0 ] || fail "exit status $status"
[ ! -e "$marker/claims/default/anna" ] || fail "the folder is there"
# A folder of an older version has no list.
mkdir "$marker/claims/default/anna" && rm -r "$marker/clusters"
purge
[ ! -e "$marker/claims/default/anna" ] || fail "the folder is there"
