#!/usr/bin/env bash
# A control plane and a worker become a newer Kubernetes, one after the other: drained by the control plane, Ready with the new version,
# and taking pods again. gpuadm is killed while the worker is drained; a pod that only the worker may run comes back there.
. "$(dirname "$0")/common"

needs_next_bundle
admin() { administer one "$@"; }
ready_nodes 1 one two
a_deployment one '{ kubernetes.io/hostname: two }'
before=$(admin get pods -l app=web -o name)

begins upgrade -f cluster.yaml --bundle "$newer" -y
in_phase 'upgrade/drain:two' "$running" || fail "the worker was not reached"
kill -KILL "$running"
wait "$running" || true
# The new kubelet does not fit on the worker's disk: it runs on with the old one.
full two /usr/bin
exits 1 gpuadm upgrade -f cluster.yaml --bundle "$newer" -y
says "the disk of /usr/bin is full"
[ "$(admin get node two -o 'jsonpath={.status.nodeInfo.kubeletVersion}')" = "v$(kubernetes_version)" ] || fail "the worker is another version"
on two umount -l /usr/bin
exits 0 gpuadm upgrade -f cluster.yaml --bundle "$newer" -y
for node in one two; do
  admin get node "$node" -o 'jsonpath={.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status} {.spec.unschedulable} {.metadata.annotations.gpuadm\.io/upgrade}' >seen
  [ "$(cat seen)" = "v$(version_of "$newer") True  " ] || fail "the node $node is: $(cat seen)"
done
admin wait --for=condition=Available --timeout=240s deployment/web >/dev/null || fail "its pod has not come back"
[ "$(admin get pods -l app=web --field-selector status.phase=Running -o name)" != "$before" ] || fail "the worker was not drained"
exits 0 gpuadm upgrade -f cluster.yaml --bundle "$newer" -y
says "nothing to do"
