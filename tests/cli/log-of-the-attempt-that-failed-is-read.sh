#!/usr/bin/env bash
# playbooks/reasons.sh reads the log of the attempt that failed, also if the kubelet has already started the next one, which has said nothing.
. "$(dirname "$0")/common"

folder=$place/pods/kube-system_etcd-node_1/etcd
mkdir -p "$folder"
echo '2026-11-24T16:35:40.1Z stderr F flag provided but not defined: -no-such-flag' >"$folder/1.log"
touch -d '1 minute ago' "$folder/1.log"
: >"$folder/2.log"
log_of=$("$GPUADM" assets show playbooks/reasons.sh | sed -n '/^log_of() {/,/^}/p')
[ -n "$log_of" ] || fail "there is no function log_of"
frame=$("$GPUADM" assets show playbooks/frame.sh | sed -n '/^ERRORS=/p; /^last_lines() {/,/^}/p')
cat >program <<END
section() { echo "=== \$1"; }
limit() { shift && "\$@"; }
LOG_ERRORS=flag
$frame
${log_of//\/var\/log\/pods/$place/pods}
log_of kube-system "\$1" etcd "\$2"
END
of() { sh program "$@"; }
for nth in 1 2; do
  exits 0 of etcd-node "$nth"
  says '| flag provided but not defined: -no-such-flag'
done
exits 0 of etcd-other 1
[ ! -s out ] || fail "a log of another pod: $(cat out)"
