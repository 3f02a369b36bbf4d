#!/usr/bin/env bash
# While an nvidia-smi hangs, gpuadm gpu top starts no other one, and shows since when the host does not answer.
. "$(dirname "$0")/common"
needs jq timeout

mkdir double
printf '#!/bin/sh\necho $$ >>%s/started\nexec sleep 30\n' "$PWD" >double/nvidia-smi
chmod +x double/nvidia-smi
export PATH=$PWD/double:$PATH
ended() {
  # shellcheck disable=SC2046 # numbers
  [ ! -e started ] || kill $(cat started) 2>/dev/null || :
}
trap 'ended; rm -rf "$place"' EXIT

# The first interval has time for connections: 10 s.
exits 4 gpuadm gpu top --interval 1 --count 3 -o json
[ "$(wc -l <out)" = 3 ] || fail "not one object an interval"
jq -es '.[2] | .gpus == [] and (.hosts | length == 1) and .hosts[0].state == "not-answering" and .hosts[0].seconds >= 10' out >/dev/null ||
  fail "the host is shown otherwise"
[ "$(wc -l <started)" = 1 ] || fail "nvidia-smi was started $(wc -l <started) times"
ended

# One that waits in the kernel (state D) cannot be ended: no other one is started. A parent waits like this for its vfork child.
command -v cc >/dev/null || skip "no C compiler for a process in state D"
cat >hangs.c <<'C'
#include <unistd.h>
int main(void) {
  if (vfork() == 0) {
    sleep(60);
    _exit(0);
  }
  return 0;
}
C
mkdir other
cc -o other/nvidia-smi hangs.c
# Tests that look for such a program in /proc hold this lock, too.
exec 9<"$top/tests/lab/gpu-double/nvidia-smi" && flock 9
other/nvidia-smi 9<&- &
hanging=$!
trap 'ended; kill -9 $(cat "/proc/$hanging/task/$hanging/children") "$hanging" 2>/dev/null; rm -rf "$place"' EXIT
sleep 0.5
grep -q "(nvidia-smi) D " "/proc/$hanging/stat" || skip "a parent of vfork is not in state D here"
rm -f started
exits 0 gpuadm gpu top --count 1 -o json
jq -e --arg why "nvidia-smi hangs in the kernel (pid $hanging)" '.hosts[0] | .state == "not-answering" and .why == $why' out >/dev/null ||
  fail "the process is not named"
[ ! -e started ] || fail "another nvidia-smi was started"
