#!/usr/bin/env bash
# --watch in a pipe prints what changed, a line each, until Ctrl-C; on a terminal it draws in place and gives the screen back.
. "$(dirname "$0")/common"

exits 2 gpuadm doctor --watch --from .
complains "--watch cannot be combined with a recording"
exits 2 gpuadm doctor --watch --record kept
exits 2 gpuadm doctor --watch --fix
complains "--watch cannot be combined with --fix"
exits 2 gpuadm doctor --watch --demo gpu-fell-off-the-bus
exits 2 gpuadm doctor --watch -o html
complains "use -o json"
exits 2 gpuadm doctor --watch=soon

# A probe that says what a file says, so that something can change.
mkdir -p mine/playbooks
gpuadm facts -o probe >answer
sed -i 's/^| net.ipv4.ip_forward .*/| net.ipv4.ip_forward 1/' answer
echo "cat $place/answer" >mine/playbooks/probe.sh
only=(--only kernel.sysctl.ip-forward --assets mine)

# wait_for TEXT FILE: at most a minute.
wait_for() {
  local i
  for ((i = 0; i < 600; i++)); do
    grep -qF -- "$1" "$2" && return
    sleep 0.1
  done
  cp "$2" out
  fail "there is no: $1"
}
say_forward() { sed "s/^| net.ipv4.ip_forward .*/| net.ipv4.ip_forward $1/" answer >next && mv next answer; }

"$GPUADM" doctor --watch=1 "${only[@]}" >seen 2>err &
watching=$!
sleep 1.5
[ ! -s seen ] || { cp seen out && fail "nothing was wrong, and something was said"; }
say_forward 0
wait_for 'new ' seen
say_forward 1
wait_for 'gone ' seen
kill -INT "$watching"
status=0
wait "$watching" || status=$?
[ "$status" = 130 ] || fail "exit status $status after Ctrl-C"
grep -qE '^[0-9-]+T[0-9:]+Z new .* kernel\.sysctl\.ip-forward: ' seen || { cp seen out && fail "no such line"; }
! grep -q $'\033' seen || fail "there is an escape sequence"
[ -s "$(find .local/state/gpuadm -name findings.json | tail -n 1)" ]

say_forward 0
timeout -s INT 10 "$GPUADM" doctor --watch=1 -o json "${only[@]}" >seen 2>err </dev/null || true
jq -es 'length == 1 and .[0].change == "new" and .[0].id == "kernel.sysctl.ip-forward"' seen

# The page comes and goes; so it does when the program is stopped by another signal.
for signal in INT TERM HUP; do
  TERM=xterm script -qec "timeout -s $signal 10 $GPUADM doctor --watch=1 ${only[*]}" /dev/null </dev/null >page 2>&1 || true
  cp page out
  grep -qF $'\033[?1049h' page || fail "$signal: the page did not come"
  grep -qF 'kernel.sysctl.ip-forward' page || fail "$signal: the page is empty"
  [ "$(grep -oE $'\033\\[\\?1049[hl]' page | tail -n 1)" = $'\033[?1049l' ] || fail "$signal: the screen was not restored"
  [ "$(grep -oE $'\033\\[\\?25[hl]' page | tail -n 1)" = $'\033[?25h' ] || fail "$signal: the cursor was not restored"
done
