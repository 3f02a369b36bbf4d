#!/usr/bin/env bash
# The probe runs next to a user's processes that wait in the kernel under the names of NVIDIA's programs, listen under names with newlines, and
# lock files: no row of its output is theirs, and none of root's is missing. Groups of a user do not keep reset from completing.
. "$(dirname "$0")/common"
command -v python3 >/dev/null || skip 'python3 is not installed'

mkdir theirs && chown "$mallory:" theirs
probe() { # probe FILE: with the package manager's lock in that file
  sed "s#/var/lib/dpkg/lock-frontend /var/lib/dpkg/lock #$1 #; s#\[ -r /var/lib/dpkg/lock \]#true#" "$playbooks/probe.sh" >probe.sh
  { cat "$playbooks/frame.sh" "$playbooks/processes.sh" && cat probe.sh; } >program
  (cd / && sh "$place/program") >out 2>err </dev/null || fail "the probe fails"
}
section() { awk -v name="=== $1" '$0 == name { inside = 1; next } /^=== / { inside = 0 } inside' out; }

shows waits nvidia-smi
waits=$shown
shows waits $'\n1 (nvidia-smi'
newline=$shown
shows waits $'a) D 1 (nv-x'
brace=$shown
cp hostile-user own
"$place/own" "$place/goes-on" waits nvidia-own >said.own &
for _ in $(seq 100); do [ ! -s said.own ] || break; sleep 0.05; done
own=$(cat said.own)
shows listens $'\nLISTEN 0 0 *:1'
listens=$port
as "$mallory" -- sh -c 'echo >theirs/lock'
as "$mallory" -- python3 -c 'import fcntl, os, sys, time
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
open(sys.argv[3], "w").close()
while os.path.exists(sys.argv[2]): time.sleep(0.05)' theirs/lock "$place/goes-on" theirs/locked &
for _ in $(seq 100); do [ ! -e theirs/locked ] || break; sleep 0.05; done

probe "$place/theirs/lock"
grep -q '^State:[[:space:]]*D' "/proc/$waits/status" || skip "a parent of vfork is not in state D here"
section processes >waiting
for pid in "$waits" "$newline" "$brace"; do
  grep -q "^| $pid (.* system=no\$" waiting || fail "the process $pid of a user is not shown as theirs: $(cat waiting)"
done
grep -q "^| $own (nvidia-own) D .* system=yes\$" waiting || fail "root's process is not shown as the system's: $(cat waiting)"
! grep -q '^| 1 (' waiting || fail "process 1 waits: $(cat waiting)"
section listeners >ports
! grep -vE '^(\| (State|LISTEN) |\? 0$)' ports || fail "the name of a program makes another row: $(cat ports)"
grep -q ":$listens " ports || fail "the row of the program with a newline in its name is missing: $(cat ports)"
[ -z "$(section package-locks)" ] || fail "a user locks the packages: $(section package-locks)"
# Root's lock is shown.
touch lock
python3 -c 'import fcntl, os, sys, time
file = open("lock", "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
open("locked", "w").close()
while os.path.exists("goes-on"): time.sleep(0.05)' &
locks=$!
for _ in $(seq 100); do [ ! -e locked ] || break; sleep 0.05; done
probe "$place/lock"
[ "$(section package-locks)" = "| $place/lock pid=$locks program=python3" ] || fail "who locks the packages: $(section package-locks)"

# Groups of pods that the kubelet has left, next to those of a user.
mkdir -p root/cgroup/kubepods.slice/kubepods-a.slice root/cgroup/user.slice/user-2.slice/kubepods.slice/a root/cgroup/system.slice
cp -r "$playbooks" books
sed -i "s#/sys/fs/cgroup#$place/root/cgroup#g" books/reset.sh
playbooks=$place/books
# shellcheck disable=SC2016 # of the step
step one before.sh static-pods.sh reset.sh <<<'reset_groups | while IFS= read -r group; do rmdir "$group"; done'
[ -d root/cgroup/user.slice/user-2.slice/kubepods.slice/a ] || fail "a group of a user was removed"
[ ! -e root/cgroup/kubepods.slice ] || fail "groups of the kubelet are left"
step one before.sh static-pods.sh reset.sh <<<reset_groups
[ ! -s out ] || fail "groups of a user are the kubelet's: $(cat out)"
