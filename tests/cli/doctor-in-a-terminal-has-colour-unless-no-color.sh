#!/usr/bin/env bash
# Color on a terminal, none with NO_COLOR, --no-color or --plain; --plain rewrites no line either.
. "$(dirname "$0")/common"

# in_terminal COMMAND...: a report whose first line is a warning.
in_terminal() {
  : >err
  TERM=xterm script -qec "$*" /dev/null </dev/null >out 2>&1 || fail "exit status $?: $*"
  says "no NVIDIA driver is installed"
}
color=$'\033\\[[0-9;]*m'
in_terminal "$GPUADM" doctor --demo no-driver
grep -qE $'^\033\\[33m''Warning: ' out || fail "the warning is not yellow"
in_terminal env NO_COLOR=1 "$GPUADM" doctor --demo no-driver
hides "$color"
in_terminal "$GPUADM" doctor --demo no-driver --no-color
hides "$color"
in_terminal "$GPUADM" doctor --demo no-driver --plain
hides $'\033'
