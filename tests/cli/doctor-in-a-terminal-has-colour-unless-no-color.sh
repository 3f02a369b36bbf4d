#!/usr/bin/env bash
# Color on a terminal, none with NO_COLOR, --no-color or --plain; --plain rewrites no line either.
. "$(dirname "$0")/common"

in_terminal() { TERM=xterm script -qec "$*" /dev/null </dev/null >out 2>&1 || true; }
in_terminal "$GPUADM" doctor
grep -qE $'\033\[(1|31|33)m' out
in_terminal env NO_COLOR=1 "$GPUADM" doctor
hides $'\033\[1m'
in_terminal "$GPUADM" doctor --no-color
hides $'\033\[1m'
in_terminal "$GPUADM" doctor --plain
hides $'\033'
