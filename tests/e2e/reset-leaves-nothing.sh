#!/usr/bin/env bash
# After init and reset a host is what it was: every file with its sum, owner and time, units, parameters, modules, rules,
# interfaces, mounts, packages, images. An existing runtime is restored. Then it can be made a node again, and a
# reset that is cut off is finished by the next one.
. "$(dirname "$0")/common"

reset_all() { gpuadm reset -f cluster.yaml "$@"; }

gives_back() { # gives_back WORD
  whole_host node >after
  diff before after || fail "$1: reset left something"
  on node '[ ! -e /run/nvidia ]' || fail "$1: reset left what MPS made"
}

# Something of its owner's in every place where a cluster writes.
inhabited() {
  on node sh -s <<'END'
set -e
mkdir -p /etc/cni/net.d /opt/cni/bin /root/.kube
printf '{}\n' >/etc/cni/net.d/87-theirs.conflist.off
printf '#!/bin/sh\n' >/opt/cni/bin/theirs && chmod 0755 /opt/cni/bin/theirs
printf 'theirs\n' >/root/.kube/notes
iptables -N THEIRS
iptables -A THEIRS -s 192.0.2.7 -m comment --comment "kept as it is" -j ACCEPT
iptables -I INPUT -j THEIRS
END
}

# What MPS's control daemon makes on the host.
as_mps_does() {
  on node 'mkdir -p /run/nvidia/mps/nvidia.com/gpu/pipe /run/nvidia/mps/shm && mkfifo /run/nvidia/mps/nvidia.com/gpu/pipe/control &&
    mount -t tmpfs shm /run/nvidia/mps/shm && touch /run/nvidia/mps/shm/cuda.shm.0'
}

# A scope of a container that systemd has marked as failed, as after a timeout: it and its slice stay loaded. The slice is not named as a
# pod's, because the kubelet removes those of pods that it does not know. With cgroup v1, systemd may not see that a scope is empty
# in a container, and waits for its timeout.
as_a_failed_scope_does() {
  on node sh -s <<'END' || fail "no scope failed"
systemd-run --quiet --scope --slice=kubepods-burstable-failed.slice --unit=cri-containerd-failed.scope -p RuntimeMaxSec=1 -p TimeoutStopSec=1 sleep 30
for attempt in $(seq 300); do
  systemctl is-failed --quiet cri-containerd-failed.scope && exit
  sleep 0.1
done
systemctl status cri-containerd-failed.scope >&2
exit 1
END
}

# A cluster with a pod that has an address, a port of the host, and a mount.
makes_a_busy_node() {
  exits 0 init -y
  has_a_cluster node
  as_mps_does
  as_a_failed_scope_does
  on node 'cat >/tmp/pod.yaml
    export KUBECONFIG=/etc/kubernetes/admin.conf
    kubectl apply -f /tmp/pod.yaml >/dev/null && rm /tmp/pod.yaml
    kubectl wait --for=condition=Ready --timeout=240s pod/busy >/dev/null' <<'END' || fail "no pod runs"
apiVersion: v1
kind: Pod
metadata: { name: busy }
spec:
  volumes: [{ name: memory, emptyDir: { medium: Memory } }]
  containers:
    - name: busy
      image: lab.local/sleep:1
      imagePullPolicy: Never
      args: ["0"]
      ports: [{ containerPort: 80, hostPort: 8099 }]
      volumeMounts: [{ name: memory, mountPath: /memory }]
END
}

for engine in containerd docker; do
  if [ "$engine" = docker ] && ! has_dockershim; then
    leaves_out "Docker: $(no_dockershim)"
    continue
  fi
  a_host node --image "$(lab fitting "$engine")"
  echo "runtime: { engine: $engine }" >>cluster.yaml
  inhabited
  whole_host node >before
  makes_a_busy_node

  exits 2 reset_all
  complains "no terminal to ask for confirmation"
  exits 2 gpuadm undo -f cluster.yaml --all --run x -y
  exits 3 gpuadm undo -f cluster.yaml --all -y
  complains "gpuadm reset"
  exits 0 reset_all --dry-run
  says "Remove the cluster's state"
  has_a_cluster node

  # After half a minute at the question, the hosts are not reported as changed: changes by the cluster itself do not count.
  { sleep 30 && echo y; } | lab net script -qec "$GPUADM reset -f cluster.yaml" /dev/null >out 2>&1 || fail "a late yes is refused"
  gives_back "$engine"
  exits 0 reset_all -y
  says "nothing to do"

  if [ "$engine" = containerd ]; then
    makes_a_busy_node
    "$top/tests/lab/lab" net "$GPUADM" reset -f cluster.yaml -y >out 2>err </dev/null &
    running=$!
    in_phase reset/state "$running"
    kill -KILL "$running"
    wait "$running" || true
    exits 0 reset_all -y
    gives_back "cut off"
  fi
  lab down node
done
