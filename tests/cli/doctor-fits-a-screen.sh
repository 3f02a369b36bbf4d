#!/usr/bin/env bash
# On a terminal of 80x24 every fault that gpuadm carries is shown with its blockers and the next command on one screen; -v and a pipe
# have all of it.
. "$(dirname "$0")/common"
needs script

# on_screen COMMAND...: as a terminal of 80x24 gets it, without colors.
on_screen() {
  TERM=xterm script -qec "stty cols 80 rows 24; $*" /dev/null </dev/null 2>&1 | tr -d '\r' | sed 's/\x1b\[[0-9;]*[mKJ]//g' >out || true
}

mapfile -t demos < <(gpuadm doctor --demo -o json | jq -r '.[].name')
[ ${#demos[@]} -gt 70 ]
for demo in "${demos[@]}"; do
  on_screen "$GPUADM" doctor --no-color --demo "$demo"
  grep -qE '^(First broken link|Warning): ' out || fail "$demo: no verdict"
  grep -q '^next: gpuadm explain ' out || fail "$demo: no next command"
  grep -q '^Checked ' out || fail "$demo: no stage"
  rows=$(awk '{ rows += length == 0 ? 1 : int((length + 79) / 80) } END { print rows }' out)
  [ "$rows" -le 24 ] || fail "$demo: $rows rows"
done

on_screen "$GPUADM" doctor --no-color --demo gpu-fell-off-the-bus
! grep -q '^  note ' out || fail "notes are listed"
grep -q '(-v' out || fail "it does not say how to see all"
on_screen "$GPUADM" doctor --no-color -v --demo gpu-fell-off-the-bus
grep -q '^  note ' out || fail "-v does not list notes"
grep -q '^  pass ' out || fail "-v does not list passes"
gpuadm doctor --demo gpu-fell-off-the-bus >out || true
grep -q '^  note ' out || fail "a pipe does not get notes"
