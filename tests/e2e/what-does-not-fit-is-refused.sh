#!/usr/bin/env bash
# Hosts and versions that do not go together: refused with the reason and what to type, and not one host is changed. Two clusters,
# one of them with a worker, and a host that is in none.
. "$(dirname "$0")/common"

hosts 1 one other worker four
apply_to() { # apply_to NAME FILE: a run's state of its own, so that two can go side by side
  mkdir "$1" && HOME=$place/$1 "$top/tests/lab/lab" net "$GPUADM" apply -f "$2" --bundle "$bundle" -y >"$1/said" 2>&1 </dev/null
}
file() { "$top/tests/lib/lab-cluster" "$@"; }
file one >one.yaml
file other worker >other.yaml
apply_to first one.yaml &
apply_to second other.yaml || { cat second/said >&2 && fail "the second cluster did not come up"; }
wait $! || { cat first/said >&2 && fail "the first cluster did not come up"; }

# What gpuadm might touch, on every host, and when programs were started.
state() {
  local name
  for name in one other worker four; do
    echo "$name"
    on "$name" 'find /etc /usr/local /usr/bin /var/lib/gpuadm /var/lib/kubelet/config.yaml /run/gpuadm -printf "%p %m %U %y " -a \( -type f -exec sha256sum {} \; -o -printf "\n" \) 2>/dev/null | sort'
    units "$name"
  done
}
state >before
# refused STATUS WORD... -- COMMAND...: with each of the words.
refused() {
  local status=$1 words=() word
  shift
  while [ "$1" != -- ]; do words+=("$1") && shift; done
  shift
  exits "$status" "$@"
  for word in "${words[@]}"; do cat out err | grep >/dev/null -F -- "$word" || fail "no '$word' is said"; done
}

# A worker, and a control plane, of another cluster.
file one worker >mixed.yaml
refused 3 "worker belongs to another cluster" "gpuadm reset worker" -- gpuadm join worker -f mixed.yaml --bundle "$bundle" -y
refused 3 "worker belongs to another cluster" "gpuadm reset worker" -- gpuadm apply -f mixed.yaml --bundle "$bundle" -y
file one other >mixed.yaml
refused 3 "other belongs to another cluster" "gpuadm reset other" -- gpuadm join other -f mixed.yaml --bundle "$bundle" -y
file --control-planes 3 one other four >planes.yaml
echo 'controlPlane: { endpoint: "10.77.0.1:6443" }' >>planes.yaml
refused 3 "other belongs to another cluster" "gpuadm reset other" -- gpuadm apply -f planes.yaml --bundle "$bundle" -y

# One machine under two names: it answers at two ports.
on four '/usr/sbin/sshd -o Port=2222 -o PidFile=/run/sshd-2222.pid'
file one four | sed -nE 's/name: four, (address: [0-9.]+)/name: five, \1, port: 2222/p' >twice
file one four | sed '/name: four,/r twice' >twice.yaml
refused 3 "five and four are the same machine" "keep only one of them" -- gpuadm apply -f twice.yaml --bundle "$bundle" -y
on four 'pkill -F /run/sshd-2222.pid'

# Versions.
needs_next_bundle
version=$(kubernetes_version) minor=$(kubernetes_minor)
minor=${minor#1.}
file one four >fresh.yaml
refused 3 "one runs Kubernetes $version, and the bundle" "gpuadm upgrade --bundle" -- gpuadm join four -f fresh.yaml --bundle "$newer" -y
{ cat one.yaml && echo 'kubernetes: { source: packages }'; } >packages.yaml
refused 3 "skips a minor version" "from $version to 1.$((minor + 2)).0" "gpuadm upgrade --kubernetes-version 1.$((minor + 1))" -- \
  gpuadm upgrade -f packages.yaml --kubernetes-version "1.$((minor + 2)).0" -y

# A control plane that runs and does not answer, and one that is gone.
state >after
diff before after >out || fail "a host was changed"
# shellcheck disable=SC2016 # expanded on the host
on one 'systemctl stop kubelet && ctr -n k8s.io tasks ls | awk "NR > 1 { print \$1 }" | xargs -n 1 ctr -n k8s.io tasks kill --signal SIGKILL'
state >before
refused 3 "one: the API server does not answer" -- gpuadm join four -f fresh.yaml --bundle "$bundle" -y
state >after
diff before after >out || fail "a host was changed"
lab kill one
refused 3 "not used: one" "no control-plane node of the cluster is reachable" "gpuadm doctor one" -- gpuadm join four -f fresh.yaml --bundle "$bundle" -y --connect-timeout 5
