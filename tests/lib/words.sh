# shellcheck shell=bash
# Words for tests that run the program: what it should exit with, and say.

# No test depends on the day on which it runs.
export GPUADM_TODAY=2026-11-29

# exits CODE COMMAND...: what it prints is kept in the files out and err.
exits() {
  local code=$1 status=0
  shift
  "$@" >out 2>err </dev/null || status=$?
  [ "$status" = "$code" ] || fail "exit status $status, not $code: $*"
}

# says TEXT, complains TEXT: in out, in err.
says() { grep -qF -- "$1" out || fail "out does not say: $1"; }
complains() { grep -qF -- "$1" err || fail "err does not say: $1"; }

# hides PATTERN: neither out nor err has it.
hides() { ! grep -qE -- "$1" out err || fail "there is: $1"; }

# lacks -F|-E TEXT PATH...: no file at or below the paths has it; those that do are printed. Fails also if one of the paths does not exist.
lacks() {
  local status=0
  grep -rl "$1" -e "$2" "${@:3}" || status=$?
  [ "$status" = 1 ]
}

fail() {
  printf '%s\n--- the last of out\n%s\n--- the last of err\n%s\n' "$1" "$(tail -n 40 out)" "$(tail -n 40 err)" >&2
  exit 1
}
