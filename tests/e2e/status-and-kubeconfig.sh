#!/usr/bin/env bash
# gpuadm status shows the state of a real cluster and its problems; kubeconfig merges its credentials with those of others; exec, logs
# and cp reach the host.
. "$(dirname "$0")/common"

# status_says TEXT: within a minute, what the cluster itself takes to notice; exit status 1.
status_says() {
  local deadline=$((SECONDS + 240))
  until exits 1 gpuadm status -f cluster.yaml && grep -qF -- "$1" out; do
    [ "$SECONDS" -lt "$deadline" ] || fail "status does not say: $1"
    sleep 1
  done
}
is_well() {
  local deadline=$((SECONDS + 180))
  until gpuadm status -f cluster.yaml >out 2>err </dev/null; do
    [ "$SECONDS" -lt "$deadline" ] || fail "the cluster is not well"
    sleep 1
  done
}

a_host one
exits 0 init -y
is_well
says "ok, leads"
says "Cluster is healthy"
says "bridge on each node"
! awk 'length > 80' out | grep >/dev/null . || fail "a line is longer than 80 columns"
exits 0 gpuadm status -f cluster.yaml -o wide
says "https://$(lab address one):2379"
exits 0 gpuadm status -f cluster.yaml -o json
jq -e '.well and (.nodes | length) == 1 and .etcdMembers[0].leads and .controlPlanes[0].certificateDays > 300
  and ([.controlPlanes[0].components[].state] | all(. == "ok"))' out >/dev/null || fail "the JSON is wrong"
exits 0 gpuadm status -f cluster.yaml -o yaml
says "well: true"

# Looked at again and again: a page for each look in a pipe, one object a line as JSON.
"$top/tests/lab/lab" net "$GPUADM" status -f cluster.yaml --watch=1 -o json >looks 2>err </dev/null &
running=$!
looks() { [ "$(wc -l <looks)" -ge 2 ]; }
within 240 "two looks at the cluster" looks
kill -INT "$running"
wait "$running" || true
jq -es 'length >= 2 and all(.well)' looks >/dev/null || { cp looks out && fail "the watch saw otherwise"; }

# The kubeconfig: merged with another cluster's, idempotent, and kubectl works with it.
mkdir .kube
printf '%s\n' 'apiVersion: v1' 'kind: Config' '# mine' 'clusters: [{ name: prod, cluster: { server: "https://192.0.2.1:6443" } }]' \
  'users: [{ name: me, user: { token: "0123" } }]' 'contexts: [{ name: prod, context: { cluster: prod, user: me } }]' 'current-context: prod' >.kube/config
cp .kube/config former
exits 0 gpuadm kubeconfig -f cluster.yaml
complains "the original is"
cmp former .kube/config.before-*
[ "$(stat -c %a .kube/config)" = 600 ] || fail "others may read the kubeconfig"
kubectl=$bundle/bin/kubectl
[ "$("$kubectl" config current-context)" = one ] || fail "the current context is another"
[ "$("$kubectl" config get-contexts -o name | sort | tr '\n' ' ')" = "one prod " ] || fail "the contexts are others"
[ "$("$kubectl" config view -o 'jsonpath={.contexts[?(@.name=="prod")].context.user}')" = me ] || fail "another's context has changed"
lab net "$kubectl" get nodes >out 2>err || fail "kubectl does not work with it"
says "one "
before=$(sha256sum .kube/config)
exits 0 gpuadm kubeconfig -f cluster.yaml
says "is up to date"
[ "$(sha256sum .kube/config)" = "$before" ] || fail "the second time changed the file"
[ "$(find .kube -name 'config.before-*' | wc -l)" = 1 ] || fail "nothing changed, and something was kept"
exits 2 gpuadm kubeconfig -f cluster.yaml --context prod
complains "--context NAME"
exits 0 gpuadm kubeconfig -f cluster.yaml --output other --context elsewhere
[ "$("$kubectl" --kubeconfig other config current-context)" = elsewhere ] || fail "the separate file is wrong"
lacks -F client-key-data --include='*.json*' .local/state/gpuadm || fail "a key is in a run folder"

# One thing on every host.
exits 0 gpuadm exec -f cluster.yaml -- hostname
[ "$(cat out)" = "one| one" ] || fail "exec says otherwise"
exits 1 gpuadm exec -f cluster.yaml -- 'printf "a\033[31m\n"; echo no >&2; exit 7'
says 'one| a\x1b[31m'
complains "one| no"
complains "one: exit status 7"
# shellcheck disable=SC2016 # nobody expands it
exits 0 gpuadm exec -f cluster.yaml -o json -- echo 'a  b' '$HOME' --dry-run
jq -e '.hosts[0].out == "a  b $HOME --dry-run\n" and .failed == 0' out >/dev/null || fail "the words are others"
exits 0 gpuadm logs kubelet -f cluster.yaml --lines 2
says "one| "
exits 0 gpuadm logs kube-apiserver one -f cluster.yaml --lines 5 --since 1h
says "one| "
exits 1 gpuadm logs nosuch -f cluster.yaml
complains "unit nosuch does not exist"

head -c 3000000 /dev/urandom >blob
chmod 0640 blob
exits 0 gpuadm cp blob --to /opt/new/place -f cluster.yaml --dry-run
absent one /opt/new || fail "a dry run has written"
exits 0 gpuadm cp blob --to /opt/new/place -f cluster.yaml
[ "$(on one 'stat -c %a /opt/new/place; sha256sum </opt/new/place')" = "640"$'\n'"$(sha256sum <blob)" ] || fail "it arrived otherwise"
exits 0 gpuadm cp blob --to /opt/new/place -f cluster.yaml
says "nothing to do"
exits 1 gpuadm cp blob --to /opt/new -f cluster.yaml
says "append a slash"

# What is stopped is named: the kubelet, a part of the control plane, the whole host.
on one systemctl stop kubelet
exits 1 gpuadm status -f cluster.yaml
says "one: the kubelet is not running"
says "do: gpuadm logs kubelet one"
on one mv /etc/kubernetes/manifests/kube-scheduler.yaml /root/
on one systemctl start kubelet
status_says "kube-scheduler has no manifest"
says "DOWN"
on one mv /root/kube-scheduler.yaml /etc/kubernetes/manifests/
is_well
lab kill one
exits 4 gpuadm status -f cluster.yaml --connect-timeout 3
says "no control-plane node is reachable"
