#!/usr/bin/env bash
# The files of a claim are deleted only if one cluster uses the storage: a claim of another cluster with the same name has the same folder.
. "$(dirname "$0")/common"

marker=$place/gpuadm-data
mkdir -m 0700 "$marker"
mkdir -p "$marker/clusters" "$marker/claims/default/anna"
echo id >"$marker/id"
echo work >"$marker/claims/default/anna/file"
purge() { status=0; action=purge marker=$marker space=default name=anna sh "$playbooks/storage-claim.sh" >out 2>err || status=$?; }
touch "$marker/clusters/one" "$marker/clusters/two"
purge
[ "$status" = 1 ] || fail "exit status $status"
complains "several clusters use $marker"
[ -e "$marker/claims/default/anna/file" ] || fail "the file is deleted"
rm "$marker/clusters/two"
# A list that cannot be read is not a list of one.
mkdir bin
printf '#!/bin/sh\nexit 2\n' >bin/ls && chmod +x bin/ls
PATH=$place/bin:$PATH purge
[ "$status" = 1 ] || fail "exit status $status"
complains "cannot read $marker/clusters"
[ -e "$marker/claims/default/anna/file" ] || fail "the file is deleted"
purge
[ "$status" = 0 ] || fail "exit status $status"
[ ! -e "$marker/claims/default/anna" ] || fail "the folder is there"
# A folder of an older version has no list.
mkdir "$marker/claims/default/anna" && rm -r "$marker/clusters"
purge
[ ! -e "$marker/claims/default/anna" ] || fail "the folder is there"
