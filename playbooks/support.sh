#!/bin/sh
# Collects the data, above all logs, for a remote diagnosis of one host. Changes nothing; every program has a time limit. The output
# is described in docs/reference/support.md. Variables: log_lines, the number of lines of each log; ask_cluster=yes also queries the
# API server.

# shellcheck source=playbooks/frame.sh
[ "${frame_is_here:-}" = yes ] || . "$(dirname "$0")/frame.sh"
MOST=262144
LONGEST=4000
log_lines=${log_lines:-500}
most_pod_logs=60

# User names, which the client redacts and does not write to an archive.
people() {
  section people
  { has getent && limit 5 getent passwd; } 2>/dev/null | awk -F: '$3 >= 1000 && $3 < 60000 { print "| " $1 }'
}

units() {
  has systemctl || return 0
  for unit in kubelet containerd docker crio cri-docker nvidia-persistenced nvidia-fabricmanager nvidia-imex nvlsm \
    nvidia-dcgm nvidia-cdi-refresh nvidia-docker; do
    text=$(limit 5 systemctl cat --no-pager "$unit.service" 2>/dev/null) || continue
    frame "units/$unit" "$text" 0
    has journalctl &&
      quiet "journal/$unit" 15 journalctl -u "$unit.service" -n "$log_lines" -o short-iso --no-hostname -q --no-pager
  done
}

kernel() {
  kept kernel/nvidia 'NVRM|nvidia|nouveau|SXid|AER: |PCIe Bus Error' 10 dmesg
  # Other users than root may write to /var/log, so a symbolic link is not followed.
  if [ -r /var/log/fabricmanager.log ] && [ ! -L /var/log/fabricmanager.log ]; then
    quiet kernel/fabricmanager 5 tail -n "$log_lines" /var/log/fabricmanager.log
  fi
}

containers() {
  if has crictl; then
    for socket in /run/containerd/containerd.sock /run/crio/crio.sock /run/cri-dockerd.sock; do
      [ -S "$socket" ] || continue
      run runtime/pods 10 crictl -t 5s -r "unix://$socket" pods
      run runtime/containers 10 crictl -t 5s -r "unix://$socket" ps -a
      break
    done
  elif has ctr && [ -S /run/containerd/containerd.sock ]; then
    run runtime/containers 10 ctr -n k8s.io containers ls
    run runtime/tasks 10 ctr -n k8s.io tasks ls
  fi
  [ -S /run/docker.sock ] && [ -e /run/docker.pid ] && has docker && run runtime/docker 10 docker ps -a --no-trunc
  return 0
}

# The kubelet's logs of the control plane, the pod network and NVIDIA's pods. They are available even if the API server is down.
pod_logs() {
  count=0
  for file in /var/log/pods/*/*/*.log; do
    [ -r "$file" ] || continue
    path=${file#/var/log/pods/}
    pod=${path%%/*}
    case $pod in
      kube-system_* | *flannel* | *calico* | *tigera* | *cilium* | *weave* | *antrea* | *multus* | *nvidia* | *gpu-operator* | \
        *dcgm* | *node-feature-discovery*) ;;
      *) continue ;;
    esac
    count=$((count + 1))
    [ "$count" -le "$most_pod_logs" ] || break
    rest=${path#*/}
    quiet "pods/${pod%_*}/${rest%.log}" 5 tail -n "$log_lines" "$file"
  done
}

cluster() {
  [ "${ask_cluster:-no}" = yes ] || return 0
  config=/etc/kubernetes/admin.conf
  { [ -r "$config" ] && has kubectl; } || return 0
  set -- kubectl --kubeconfig "$config" --request-timeout=10s
  run cluster/nodes 15 "$@" get nodes -o wide
  run cluster/pods 15 "$@" get pods -A -o wide
  run cluster/events 15 "$@" get events -A --sort-by=.lastTimestamp
  run cluster/describe-nodes 15 "$@" describe nodes
}

everything() {
  export LC_ALL=C
  PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  echo 'gpuadm-probe 1'
  people
  run system/kernel 2 uname -srvm
  run system/uptime 2 uptime
  kernel
  units
  containers
  pod_logs
  cluster
  echo '=== end'
}

sections everything </dev/null
