# shellcheck shell=bash disable=SC2154
# Typing into interactive shells.

tab=$(printf '\t')
export tab

# type_into SHELL SETUP LINE: a shell on a terminal, which has a prompt "ready> " after the setup, gets the line and ends. What
# was on the terminal is kept in the file screen.
type_into() {
  GPUADM_DIR=$(dirname "$GPUADM") timeout 60 zsh -f "$top/tests/lib/type.zsh" "$@" >screen 2>&1 || {
    cat -v screen >&2
    fail "could not type into $1: $3"
  }
}
