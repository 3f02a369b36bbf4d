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

# One that waits in the kernel (state D) cannot be ended: no other one is started. A parent waits like this for its vfork child. Only root's
# one that runs the host's nvidia-smi counts: any user can let a process wait that is called like it.
command -v cc >/dev/null || skip "no C compiler for a process in state D"
[ "$(id -u)" = 0 ] || skip "needs root: only its processes count"
cat >hangs.c <<'C'
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
    FILE *started = fopen("STARTED", "a");
    if (started) fprintf(started, "%d\n", getpid());
    return 0;
  }
  if (vfork() == 0) {
    sleep(60);
    _exit(0);
  }
  return 0;
}
C
sed -i "s|STARTED|$PWD/started|" hangs.c
mkdir other
cc -o other/nvidia-smi hangs.c
cp other/nvidia-smi double/nvidia-smi
# Tests that look for such a program in /proc hold this lock, too.
exec 9<"$top/tests/lab/gpu-double/nvidia-smi" && flock 9
waits() { # waits COMMAND...: sets hanging to its process id
  "$@" 9<&- &
  hanging=$!
  stops+=("$hanging")
  sleep 0.5
}
stops=()
stop_all() {
  local pid
  # shellcheck disable=SC2046 # numbers
  for pid in "${stops[@]}"; do kill -9 $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) "$pid" 2>/dev/null || :; done
}
trap 'ended; stop_all; rm -rf "$place"' EXIT
rm -f started
# Another file with this name, and a user's process that runs the host's one.
waits other/nvidia-smi
grep -q "(nvidia-smi) D " "/proc/$hanging/stat" || skip "a parent of vfork is not in state D here"
chmod 0755 "$place" double
waits setpriv --reuid=65534 --regid=65534 --clear-groups double/nvidia-smi
exits 0 gpuadm gpu top --count 1 -o json
jq -e '.hosts[0].why | contains("hangs") | not' out >/dev/null || fail "the process of another program or user hangs: $(cat out)"
[ -e started ] || fail "nvidia-smi was not started"
rm -f started
waits double/nvidia-smi
exits 0 gpuadm gpu top --count 1 -o json
jq -e --arg why "nvidia-smi hangs in the kernel (pid $hanging)" '.hosts[0] | .state == "not-answering" and .why == $why' out >/dev/null ||
  fail "the process is not named"
[ ! -e started ] || fail "another nvidia-smi was started"
