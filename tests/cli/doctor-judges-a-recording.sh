#!/usr/bin/env bash
# What was recorded is judged elsewhere with the same result, and names nothing that was planted.
. "$(dirname "$0")/common"

judged() { jq -r '.findings[] | select(.id != "host.ssh.reachable") | "\(.id) \(.result) \(.severity)"' "$1" | sort; }

status=0
http_proxy=http://planted-user:planted-password@planted.example:3128 no_proxy=localhost \
  gpuadm doctor --record kept -o json >here.json 2>err || status=$?
[ "$status" = 0 ] || [ "$status" = 3 ]
exits "$status" gpuadm doctor --from kept -o json
judged here.json >before
judged out >after
diff before after
[ "$(stat -c %a kept/recording.yaml)" = 600 ]
name=$(cat /proc/sys/kernel/hostname)
for planted in planted-user planted-password "$(cat /etc/machine-id)"; do
  [ -z "$planted" ] || ! grep -rq -- "$planted" kept || fail "the recording has $planted"
done
[ "$name" = localhost ] || ! grep -A1 '^=== /proc/sys/kernel/hostname' kept/hosts/*/probe.txt | grep -qw -- "$name" ||
  fail "the recording has the host's name"

exits 2 gpuadm doctor --record kept
complains "not empty"
exits 2 gpuadm doctor --from .
complains "create one with gpuadm doctor --record DIR"
exits 2 gpuadm doctor --from kept somehost
mkdir damaged
: >damaged/recording.yaml
exits 2 gpuadm doctor --from damaged
complains "damaged/recording.yaml"
complains "create one with gpuadm doctor --record DIR"
: >empty.json
exits 2 gpuadm doctor --from kept --baseline empty.json
complains "--baseline empty.json"
complains "gpuadm doctor -o json > FILE"
