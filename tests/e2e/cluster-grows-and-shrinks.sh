#!/usr/bin/env bash
# One control plane and three workers from one file; one that cannot be reached stops everybody before anything is changed,
# one that fails leaves the others joined; pods reach each other; a worker that is removed is what it was before; a second
# run changes nothing. What is secret is in no process's arguments or environment and in no file that others may read.
. "$(dirname "$0")/common"

hosts 1 one two three four
workers="two three four"
apply() { gpuadm apply -f cluster.yaml --bundle "$bundle" "$@"; }

# Preflight is of all hosts before any is touched.
lab link three down
exits 4 apply -y --connect-timeout 5
lab link three up
on one '[ ! -e /var/lib/gpuadm/journal ]' || fail "a host was touched though another could not be reached"

# What processes are called by, and what is in their environment, on hosts and here; sampled all the while.
token='(^|[^a-z0-9])[a-z0-9]{6}\.[a-z0-9]{16}([^a-z0-9]|$)'
watch_for_secrets() {
  while sleep 0.3; do
    grep -aoE "$token" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null || true
  done
}
watch_for_secrets >sampled 2>/dev/null &
watcher=$!
trap 'kill "$watcher" 2>/dev/null || :; lab down --all; rm -rf "$place"' EXIT

# The hosts of a lab have one kernel: settings outside the network's are those of the host that set them first.
own_state() { whole_host "$1" | grep -vE '^sysctl (vm|kernel|fs)\.'; }
own_state two >before
# A worker whose join fails: kubeadm's directory is a file there.
on four 'mkdir -p /etc/kubernetes && touch /etc/kubernetes/pki'
exits 1 apply -y
says "four"
on one 'kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o name' >nodes
for name in one two three; do grep -q "node/$name$" nodes || fail "$name did not join"; done
! grep -q node/four nodes || fail "four joined"
on four 'rm /etc/kubernetes/pki'

exits 0 gpuadm join four -f cluster.yaml --bundle "$bundle" -y
kill "$watcher"
wait "$watcher" 2>/dev/null || true
! grep -a . sampled || fail "a token was to be seen"
for name in one $workers; do
  on "$name" '[ -d /var/lib/gpuadm/journal ] && [ -d /var/log ]' || fail "$name has no journal to search"
  prints_nothing "$name" 'grep -rEl "token: *\"?[a-z0-9]{6}\.[a-z0-9]{16}|--token [a-z0-9]{6}\." /var/lib/gpuadm /run/gpuadm /var/log /tmp 2>/dev/null || true' ||
    fail "a token was left on $name"
done
lacks -E "$token" .local/state/gpuadm || fail "a token is in the run's folder"
prints_nothing one 'kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token -o name' || fail "a token is left"
has_a_cluster one 4

# A pod of each node reaches those of the others.
on one sh -es <<'END' >out 2>err || fail "pods do not reach each other"
export KUBECONFIG=/etc/kubernetes/admin.conf
for node in two three; do
  kubectl run "at-$node" --image=lab.local/sleep:1 --image-pull-policy=Never --restart=Never \
    --overrides="{\"spec\":{\"nodeName\":\"$node\"}}" -- 0 >/dev/null
  kubectl wait --for=condition=Ready "pod/at-$node" --timeout=240s >/dev/null
  address=$(kubectl get pod "at-$node" -o jsonpath={.status.podIP})
  # Nothing listens, and its kernel says so.
  timeout 5 bash -c ": </dev/tcp/$address/9" 2>&1 | grep "Connection refused" || { echo "no route to $address: $(ip route)" && exit 1; }
done
END

changes_nothing apply -y

exits 2 gpuadm remove two -f cluster.yaml
complains "no terminal to ask for confirmation"
# A pod that nobody starts again elsewhere is not thrown away.
exits 1 gpuadm remove two -f cluster.yaml -y --drain-timeout 20
says "--force"
on one 'kubectl --kubeconfig /etc/kubernetes/admin.conf delete pod at-two at-three --now' >/dev/null
exits 0 gpuadm remove two -f cluster.yaml -y
for name in one three four; do
  on "$name" 'ip route; cat /etc/systemd/system/gpuadm-pod-routes.service || true' >routes 2>err || fail "the routes of $name cannot be read"
  lacks -F "via $(lab address two)" routes || fail "$name keeps a way to two"
done
on one 'kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o name' >nodes
lacks -F node/two nodes || fail "the node is still there"
own_state two >after
diff before after || fail "remove left something on two"
exits 0 gpuadm remove two -f cluster.yaml -y
says "nothing to do"

# One that is permanently lost.
lab kill three
exits 4 gpuadm remove three -f cluster.yaml -y --connect-timeout 5
complains "--force"
exits 0 gpuadm remove three -f cluster.yaml -y --force --connect-timeout 5
lab down three

# It comes back.
exits 0 gpuadm join two -f cluster.yaml --bundle "$bundle" -y --connect-timeout 5
has_a_cluster one 3

# Without a file, by a control plane that stays.
by_one=(--to "root@$(lab address one)" -i "$(lab key)" --host-key-checking strict --connect-timeout 5 -y)
exits 0 without_file remove "root@$(lab address two)" "${by_one[@]}"
has_a_cluster one 2
