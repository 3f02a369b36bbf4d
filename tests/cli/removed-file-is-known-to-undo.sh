#!/usr/bin/env bash
# A file that a step removes is in the journal with its content, and as removed, before it is gone: undo restores it also if the run is killed
# then.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files=undo

printf 'first\n' >file
exits 0 in_step "rm() { cp $place/host/journal/log $place/before; command rm \"\$@\"; }
file_remove $place/file"
[ ! -e file ] || fail "the file is there"
[ "$(cut -f 1-3 before | sed 's/was .*/was/' | tr '\t' ' ')" = "file $place/file was
+file $place/file absent" ] || fail "the journal was $(cat before)"
cmp -s before host/journal/log || fail "the journal is $(cat host/journal/log)"
exits 0 in_step "kind=file name=$place/file was='$(head -n 1 before | cut -f 3)' now=absent reader=; undo_apply; undo_is_done"
[ "$(cat file)" = first ] || fail "the file is $(cat file)"
