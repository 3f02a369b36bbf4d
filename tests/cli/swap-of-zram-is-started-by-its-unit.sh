#!/usr/bin/env bash
# A device of zram does not exist until its unit starts, which may be after a reboot without it; other swap is enabled by its name.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files=undo

mkdir -p bin
for program in systemctl swapon swapoff; do
  printf '#!/bin/sh\necho "%s $*" >>%s/calls\n' "$program" "$place" >bin/$program
done
chmod +x bin/*
undo() { # undo NAME WAS
  rm -f calls
  exits 0 in_step "name='$1' was='$2'; undo_swap"
}
undo /dev/zram9 'on 100'
[ "$(tail -n 1 calls)" = 'systemctl start dev-zram9.swap' ] || fail "$(cat calls)"
! grep -q swapon calls || fail "$(cat calls)"
undo /swapfile 'on 5'
[ "$(cat calls)" = 'swapon -p 5 /swapfile' ] || fail "$(cat calls)"
undo /swapfile on
[ "$(cat calls)" = 'swapon /swapfile' ] || fail "$(cat calls)"
# Without a unit others have made it.
# shellcheck disable=SC2016 # of the script
printf '#!/bin/sh\n[ "$1" != cat ]\n' >bin/systemctl
undo /dev/zram9 'on 100'
[ "$(cat calls)" = 'swapon -p 100 /dev/zram9' ] || fail "$(cat calls)"
