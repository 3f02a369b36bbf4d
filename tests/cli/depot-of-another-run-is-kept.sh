#!/usr/bin/env bash
# What is left of an ended run removes installed files of the depot, unless another run holds the lock: then the depot is in use, also an
# empty one.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
export step_files=depot
depot=$place/host/depot/sha256
tidy() { # tidy HOLDER: with an installed and a partial file
  rm -rf lock "$depot" && mkdir -p lock "$depot"
  [ -z "$1" ] || echo "$1 client owner" >lock/owner
  touch "$depot/installed" "$depot/installed.placed" "$depot/rest.part"
  in_step "gpuadm_lock=$place/lock depot=$depot; depot_tidy"
}
for holder in '' run; do
  exits 0 tidy "$holder"
  [ "$(ls "$depot")" = rest.part ] || fail "holder '$holder': $(ls "$depot")"
done
exits 0 tidy another
[ "$(find "$depot" -type f | wc -l)" = 3 ] || fail "files of another run were removed: $(ls "$depot")"
rm "$depot"/*
exits 0 in_step "gpuadm_lock=$place/lock depot=$depot; depot_tidy"
[ -d "$depot" ] || fail "the empty depot of another run was removed"
