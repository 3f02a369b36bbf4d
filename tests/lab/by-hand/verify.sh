# shellcheck shell=sh
# Runs on the control plane as root: sh -s NODES. Succeeds once NODES nodes are Ready, every pod of the control plane
# runs, and a pod of the test image has run on every node.
set -e
nodes=${1:-1}
export KUBECONFIG=/etc/kubernetes/admin.conf

wait_for() { # wait_for SECONDS WHAT COMMAND...
  deadline=$(($(date +%s) + $1))
  what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ "$(date +%s)" -ge "$deadline" ]; then
      echo "gave up waiting for $what" >&2
      kubectl get nodes,pods -A -o wide >&2
      exit 1
    fi
    sleep 0.5
  done
}

all_ready() { [ "$(kubectl get nodes --no-headers | grep -cw Ready)" = "$nodes" ]; }
all_there() { [ "$(kubectl get pods -n kube-system --no-headers | wc -l)" -ge $((4 + nodes)) ]; }
# Not `kubectl wait`: newer ones divide the timeout among all pods.
all_running() {
  ready=$(kubectl get pods -n kube-system -o 'jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}') || return 1
  [ -n "$ready" ] && ! printf '%s\n' "$ready" | grep -qv '=True$'
}

wait_for 240 "$nodes nodes to be Ready" all_ready
wait_for 240 'the pods of kube-system' all_there
wait_for 300 'the pods of kube-system to be ready' all_running
wait_for 240 'the default service account' kubectl get serviceaccount default
for node in $(kubectl get nodes -o name | cut -d/ -f2); do
  kubectl run "lab-$node" --image=lab.local/sleep:1 --image-pull-policy=Never --restart=Never \
    --overrides="{\"spec\":{\"nodeName\":\"$node\"}}" -- 0 "on $node" >/dev/null
  kubectl wait --for=condition=Ready "pod/lab-$node" --timeout=240s >/dev/null
  wait_for 60 "the log of lab-$node" kubectl logs "lab-$node"
  kubectl logs "lab-$node"
done
kubectl get nodes,pods -A -o wide
# shellcheck disable=SC2046 # names; all at once, because each takes half a minute with old kubelets
kubectl delete --now $(kubectl get nodes -o name | sed 's|^node/|pod/lab-|') >/dev/null
