#!/usr/bin/env bash
# gpuadm health enable: a fault injected on a host becomes a condition, an Event, a taint and a line of the status within 60 s, and goes again
# when it is repaired. An API server that is away gets the result later. Disable leaves nothing. A node's credentials cannot taint.
. "$(dirname "$0")/common"

admin() { administer plane "$@"; }
condition() { admin get node node -o "jsonpath={.status.conditions[?(@.type=='$1')].status}"; }
taints() { admin get node node -o 'jsonpath={.spec.taints[*].key}'; }
is_unhealthy() { [ "$(condition GPUHealthy)" = False ]; }
is_healthy() { [ "$(condition GPUHealthy)" = True ]; }
is_tainted() { taints | grep -q gpuadm.io/gpu-unhealthy; }
is_untainted() { ! is_tainted; }
has_event() { admin get events -n default -o 'jsonpath={range .items[*]}{.reason} {.message}{"\n"}{end}' | grep -q "$1"; }
# within SECONDS COMMAND...
within() {
  local deadline=$((SECONDS + $1)) began=$SECONDS
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || {
      on node journalctl -u gpuadm-health --no-pager -n 20 || :
      fail "not in time: $*"
    }
    sleep 1
  done
  echo "$*: $((SECONDS - began)) s"
}
# What health enable may leave on the host.
traces() {
  on "$1" "ls -d /usr/local/libexec/gpuadm /var/lib/gpuadm/health /etc/systemd/system/*gpuadm-health* /etc/systemd/system/timers.target.wants/gpuadm-health* 2>/dev/null; systemctl list-units --all --no-legend 'gpuadm-health*' || :"
}

# The lab has no driver and no toolkit: their checks are left out.
enable() { exits 0 gpuadm health enable -f cluster.yaml --interval 10 --skip gpu.driver,gpu.cdi,nct "$@"; }

lab up plane
lab up node --gpu h200
"$top/tests/lib/lab-cluster" --control-planes 1 plane node >cluster.yaml
exits 0 init -y --skip-phases gpu

# A build that is linked to libraries which the host lacks is refused, and nothing runs it.
if ldd "$GPUADM" | grep -q yaml-cpp && ! on node "ldconfig -p | grep -q yaml-cpp"; then
  exits 1 gpuadm health enable -f cluster.yaml -y
  says "use a released build"
  [ "$(condition GPUHealthy)" = '' ] || fail "a build that does not run has set a condition"
  own_libraries plane node
fi

enable --dry-run
for host in plane node; do traces "$host"; done >traces.log
[ ! -s traces.log ] || fail "a dry run has left $(cat traces.log)"
exits 2 gpuadm health enable -f cluster.yaml --taint sometimes -y
enable --taint blocker -y
says "gpuadm health status"
within 240 is_healthy
enable --taint blocker -y
says "nothing to do"
exits 0 gpuadm health status -f cluster.yaml
says "True"
on node 'stat -c "%a %U" /var/lib/gpuadm/health' >mode
grep -qx '700 root' mode || fail "the folder of the history is $(cat mode)"

# The fault: nvidia-smi lists no GPU.
on node 'mv /usr/bin/nvidia-smi /root/nvidia-smi.real && printf "#!/bin/sh\necho No devices were found\nexit 6\n" >/usr/bin/nvidia-smi && chmod 0755 /usr/bin/nvidia-smi'
began=$SECONDS
within 60 is_unhealthy
within $((60 - (SECONDS - began))) is_tainted
within $((65 - (SECONDS - began))) has_event GPUHealthyNot
exits 1 gpuadm health status -f cluster.yaml
says "False"
says "NoSchedule"
says "1 of 1 GPUs are missing"
admin describe node node >described
grep -q 'GPUHealthy *False' described || fail "kubectl describe node does not show the condition"
grep -q 'GPUHealthyNot' described || fail "kubectl describe node does not show the Event"
[ "$(condition Ready)" = True ] || fail "the kubelet's conditions are gone"

# An API server that is away: the result is kept, and sent later.
on plane 'mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/'
on node 'mv /root/nvidia-smi.real /usr/bin/nvidia-smi'
for _ in $(seq 240); do
  on node 'grep -q "\"problem\":\"..*\"" /var/lib/gpuadm/health/state.json && grep -q "\"type\":\"GPUHealthy\",\"status\":\"True\"" /var/lib/gpuadm/health/state.json' && break
  sleep 1
done
on node 'grep -o "\"problem\":\"[^\"]*\"" /var/lib/gpuadm/health/state.json' >problem
grep -q 'problem":"..*"' problem || fail "an API server that is away is not named"
on plane 'mv /root/kube-apiserver.yaml /etc/kubernetes/manifests/'
api_answers() { admin get --raw /readyz >/dev/null 2>&1; }
within 240 api_answers
within 240 is_healthy
within 240 is_untainted
within 240 has_event 'GPUTaintRemoved'

exits 0 gpuadm health history -f cluster.yaml
says "the first run"
says "1 of 1 GPUs are missing"
says "untainted node"
exits 0 gpuadm health history -f cluster.yaml -o json
jq -e '.history | length >= 4 and any(.host == "plane") and any(.host == "node")' out >/dev/null || fail "the history is wrong"

# A full disk is named, and the conditions are sent anyway.
on node 'mkdir /mnt/full && mount -t tmpfs -o size=64k,mode=0700 tmpfs /mnt/full && cp -a /var/lib/gpuadm/health/. /mnt/full/ && { head -c 1m /dev/zero >/mnt/full/theirs 2>/dev/null || :; } && mount --bind /mnt/full /var/lib/gpuadm/health'
has_failed() { [ "$(on node systemctl show -p Result --value gpuadm-health.service)" = exit-code ]; }
within 240 has_failed
exits 1 gpuadm health status -f cluster.yaml
says "No space left"
on node 'umount /var/lib/gpuadm/health /mnt/full && rmdir /mnt/full'
has_succeeded() { [ "$(on node systemctl show -p Result --value gpuadm-health.service)" = success ]; }
within 240 has_succeeded

# A node without GPUs has no conditions.
admin get node plane -o 'jsonpath={.status.conditions[*].type}' >types
! grep -q GPU types || fail "a node without GPUs has conditions: $(cat types)"

# What a node's own credentials can do: its status, and Events. Not its taints, and not another node.
kubelet() { on node "kubectl --kubeconfig /etc/kubernetes/kubelet.conf --request-timeout=20s $(printf "%q " "$@")"; }
! kubelet taint nodes node gpuadm.io/gpu-unhealthy:NoSchedule 2>refused || fail "a node may taint itself"
grep -q 'not allowed to modify taints' refused || fail "$(cat refused)"
! kubelet label node plane stolen=yes 2>refused || fail "a node may change another one"
grep -qi forbidden refused || fail "$(cat refused)"

exits 0 gpuadm health disable -f cluster.yaml -y
[ "$(condition GPUHealthy)$(condition GPUFabricHealthy)$(condition GPUDriverHealthy)" = '' ] || fail "a condition is left"
[ "$(condition Ready)" = True ] || fail "the kubelet's conditions are gone"
for host in plane node; do traces "$host"; done >traces.log
[ ! -s traces.log ] || fail "health disable has left $(cat traces.log)"
changes_nothing gpuadm health disable -f cluster.yaml -y

# Reset removes it, too.
enable -y
within 240 is_healthy
exits 0 gpuadm reset -f cluster.yaml -y
for host in plane node; do traces "$host"; done >traces.log
[ ! -s traces.log ] || fail "reset has left $(cat traces.log)"
