#!/usr/bin/env bash
# A node becomes a newer Kubernetes. gpuadm is killed while kubeadm upgrades the control plane, and again with the new kubelet on its
# way; the same command continues. Its pods keep running meanwhile, and a second run finds nothing to do.
. "$(dirname "$0")/common"

needs_next_bundle
old=$(kubernetes_version) new=$(version_of "$newer") minor=$(kubernetes_minor)
admin() { administer node "$@"; }
upgrade() { gpuadm upgrade -f cluster.yaml --bundle "$newer" "$@"; }

# upgrade_killed_at STEP: gpuadm is killed once the step has begun.
upgrade_killed_at() {
  rm -rf .local/state/gpuadm
  "$top/tests/lab/lab" net "$GPUADM" upgrade -f cluster.yaml --bundle "$newer" -y >out 2>err </dev/null &
  local running=$! deadline=$((SECONDS + 900))
  until events 2>/dev/null | grep '"did":"started"' | grep >/dev/null "\"step\":\"$1\""; do
    kill -0 "$running" 2>/dev/null || fail "the upgrade ended before $1"
    [ "$SECONDS" -lt "$deadline" ] || fail "gave up waiting for $1"
    sleep 0.1
  done
  kill -9 "$running"
  wait "$running" || true
}

a_host node
exits 0 init -y
a_deployment node
pods() { admin get pods -l app=web -o 'jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].containerID} {.status.phase}{"\n"}{end}'; }
pods >before

# Refused before anything is changed.
exits 3 gpuadm upgrade -f cluster.yaml --kubernetes-version "1.$((${minor#1.} + 2)).0" -y
says "skips a minor version"
if [ "${old##*.}" -gt 0 ]; then
  exits 3 gpuadm upgrade -f cluster.yaml --kubernetes-version "$minor.$((${old##*.} - 1))" -y
  says "older than the running version"
fi
exits 3 gpuadm upgrade -f cluster.yaml --kubernetes-version "1.$((${minor#1.} + 1))" -y
if [ "$minor" = 1.36 ]; then
  complains "upgrade.etcd" # the bundle's etcd is older than 3.6.11
else
  complains "cannot reach" # the repository that would name its newest patch
fi

exits 0 upgrade --dry-run
says "it is the only node"
says "kubeadm upgrade apply"
says "restarts: etcd (with a new image), kube-apiserver"
[ "$(on node kubeadm version -o short)" = "v$old" ] || fail "a dry run has changed the host"

# The old kubeadm does not fit into the journal.
on node "cp -a /var/lib/gpuadm /tmp/kept && mount -t tmpfs -o size=\$((\$(du -sk /tmp/kept | cut -f1) + 4096))k tmpfs /var/lib/gpuadm &&
  cp -a /tmp/kept/. /var/lib/gpuadm/ && rm -rf /tmp/kept"
exits 1 upgrade -y
says "/var/lib/gpuadm has "
on node umount /var/lib/gpuadm

# Nor what kubeadm writes on its disk: the node runs on as it was.
full node /etc/kubernetes
exits 1 upgrade -y
says "the disk of /etc/kubernetes is full"
on node umount -l /etc/kubernetes # kubeadm had got to nothing there but a copy of etcd
admin get --raw /healthz >/dev/null || fail "the API server does not answer"

upgrade_killed_at upgrade.apply
upgrade_killed_at upgrade.kubelet.restart
exits 0 upgrade -y
admin get node node -o 'jsonpath={.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status} {.spec.unschedulable} {.metadata.annotations.gpuadm\.io/upgrade}' >seen
[ "$(cat seen)" = "v$new True  " ] || fail "the node is: $(cat seen)"
admin -n kube-system get pods -o 'jsonpath={.items[*].spec.containers[*].image}' | tr ' ' '\n' >images
[ "$(grep -c ":v$new" images)" = 4 ] || fail "an old part still runs: $(cat images)"
pods | diff before - || fail "the pods are others now"
exits 0 upgrade -y
says "nothing to do"
exits 3 gpuadm upgrade -f cluster.yaml --bundle "$bundle" -y
says "older than the running version"
