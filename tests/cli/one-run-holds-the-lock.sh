#!/usr/bin/env bash
# Two runs that have the same id, such as two with pid 2 in two containers in the same second (versions without random bits in the id),
# exclude each other: the whole line of the owner counts when the lock is taken, entered and released. The same run may take it again.
. "$(dirname "$0")/common"

id=20261128T100000Z-2
# as WHO TEXT: the client whose line ends with WHO; TEXT is after the prelude. The lock is of this test.
as() {
  {
    "$GPUADM" assets show playbooks/prelude.sh
    printf 'gpuadm_home=%s/host gpuadm_journal=%s/host/journal gpuadm_lock=%s/host/lock\n' "$place" "$place" "$place"
    printf 'gpuadm_run=%s gpuadm_step=step gpuadm_client=machine gpuadm_owner=%s gpuadm_timeout=10\n' "$id" "'$1@laptop pid 2 start $3/pid:[402653$3]'"
    printf 'gpuadm_host=box gpuadm_steal=%s\n' "'${4:-}'"
    printf '%s\n' "$2"
  } >program
  sh program
}
ann() { as ann "$1" 11; }
bob() { as bob "$1" 22 "${2:-}"; }
"$GPUADM" assets show playbooks/lock.sh >lock.sh
take=". $place/lock.sh"

exits 0 ann "$take"
exits 0 ann "$take"
exits 10 bob "$take"
says "ann@laptop pid 2 start 11/pid:[40265311]"
exits 97 bob lock_enter
complains "this run no longer holds the lock of the host"
exits 0 ann 'lock_enter; lock_leave'
# Only the line of the dead owner is taken over, not an equal id.
exits 10 bob "$take" "$id machine cat@laptop pid 2 start 33/pid:[40265333]"
exits 0 bob lock_release
[ -d host/lock ] || fail "another run has released the lock"
exits 0 ann lock_release
[ ! -e host/lock ] || fail "the lock was not released"
exits 0 ann "$take"
exits 0 bob "$take" "$(cat host/lock/owner)"
exits 97 ann lock_enter
