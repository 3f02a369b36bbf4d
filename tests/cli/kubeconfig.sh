#!/usr/bin/env bash
# A kubeconfig takes the place of SSH: the commands that need only the API take it, with the operator's own kubectl (a double here) and in the
# namespace of its context; the others refuse it and say who can run them. It is never combined with hosts, never read from the environment, and
# never an administrator's on the way.
. "$(dirname "$0")/common"

mkdir bin
cat >bin/kubectl <<'EOF'
#!/bin/sh
echo "$*" | tr '\n' ' ' >>"$HOME/asked"
echo >>"$HOME/asked"
case " $* " in
  *' auth '* | *' wait '*) exit 0 ;;
  *' -n ben '*) echo 'Error from server (Forbidden): deployments.apps is forbidden: User "anna" cannot list resource "deployments" in API group "apps" in the namespace "ben"' >&2 && exit 1 ;;
  *' -o json '* | *' -o json') echo '{"kind":"List","items":[]}' ;;
esac
EOF
# shellcheck disable=SC2016 # expanded in the script
printf '#!/bin/sh\necho "$*" >>"$HOME/ssh-was-called"; exit 255\n' >bin/ssh
chmod +x bin/*
cat >anna.kubeconfig <<'EOF'
apiVersion: v1
kind: Config
clusters: [ { name: lab, cluster: { server: "https://192.0.2.10:6443" } } ]
users: [ { name: anna, user: { token: none } } ]
contexts: [ { name: anna@lab, context: { cluster: lab, user: anna, namespace: team } } ]
current-context: anna@lab
EOF
chmod 600 anna.kubeconfig
export PATH=$place/bin:$PATH
anna() { gpuadm "$@" --kubeconfig anna.kubeconfig; }

# --- The commands that take it are these, and no others.
gpuadm manual >manual.md
awk '/^```/ { code = !code } !code && /^## gpuadm / { name = substr($0, 11) } /^\| `--kubeconfig FILE`/ && name { print name; name = "" }' manual.md | sort >takes
expected=(
  'explain pod' 'gpu list' 'gpu top' 'notebook create' 'notebook delete' 'notebook list' 'notebook resize' 'notebook shell' 'notebook start' 'notebook stop' 'notebook url'
  'serve bench' 'serve create' 'serve delete' 'serve list' 'serve logs' 'serve show' 'serve start' 'serve stop' 'serve url'
  'storage claim' 'train check' 'train list' 'train logs' 'train resume' 'train run' 'train status' 'train stop' 'workload list'
)
printf '%s\n' "${expected[@]}" | sort | diff - takes >out || fail "the commands with --kubeconfig are others"
for command in 'gpu share' init doctor status 'storage list' 'user list' 'addon list'; do
  read -ra words <<<"$command"
  exits 2 anna "${words[@]}"
  complains "$command: it needs the hosts of the cluster, which a kubeconfig does not reach"
  complains "an administrator can run it over SSH"
done

exits 2 anna gpu top
complains "--kubeconfig reaches no host, whose GPUs would be sampled"
complains "add --idle"

# --- In the namespace of its context, unless -n names another; with that kubeconfig and no other.
exits 0 anna workload list
complains "there are no workloads in the namespace team"
exits 0 anna train list -o json
exits 0 anna gpu top --idle
says "every pod that holds GPUs uses them"
exits 1 anna workload list -n ben
complains "this user may not list deployments in the namespace ben"
complains "an administrator"
[ -s asked ] || fail "kubectl was not called"
if grep -vF -- "--kubeconfig $place/anna.kubeconfig" asked >out; then fail "kubectl was called with another kubeconfig"; fi
if grep -E -- '-A |--all-namespaces|admin.conf' asked >out; then fail "kubectl was asked for more than the namespace"; fi
[ ! -e ssh-was-called ] || fail "ssh was called"
rm bin/ssh
exits 0 anna notebook create nb --gpus 0 -o yaml --offline
says "namespace: team"

# --- Not with hosts, and not from the environment.
printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: gpu1, address: 127.0.0.1, port: 1 }]\n' >cluster.yaml
for host in '-f cluster.yaml' gpu1; do
  read -ra words <<<"$host"
  exits 2 anna workload list "${words[@]}"
  complains "--kubeconfig cannot be combined with hosts or a cluster file"
done
: >asked
export KUBECONFIG=$place/anna.kubeconfig
exits 4 gpuadm workload list -f cluster.yaml
[ ! -s asked ] || fail "the kubeconfig of the environment was used"
unset KUBECONFIG

# --- A file that is missing, not a kubeconfig, readable by others; its certificate ended; no kubectl.
exits 2 gpuadm workload list --kubeconfig missing
complains "missing: No such file or directory"
exits 2 gpuadm workload list --kubeconfig cluster.yaml
complains "chmod 600 'cluster.yaml'"
chmod 600 cluster.yaml
exits 2 gpuadm workload list --kubeconfig cluster.yaml
complains "cluster.yaml is not a kubeconfig"
complains "gpuadm user add NAME"
chmod 644 anna.kubeconfig
exits 2 anna workload list
complains "other users can read it (mode 0644)"
complains "chmod 600 'anna.kubeconfig'"
chmod 600 anna.kubeconfig
install -m 600 "$top/tests/cases/kubeconfig/ended.yaml" ended.kubeconfig
for words in 'workload list' 'notebook create nb -o yaml --offline'; do
  read -ra words <<<"$words"
  exits 2 gpuadm "${words[@]}" --kubeconfig ended.kubeconfig
  complains "the certificate in ended.kubeconfig ended on 2020-02-01"
  complains "gpuadm user kubeconfig anna --renew"
done
# The script also searches the directories of programs, where this machine may have kubectl.
mkdir -p assets/playbooks
gpuadm assets show playbooks/objects.sh | sed "s#^PATH=.*#PATH=$place/nothing#" >assets/playbooks/objects.sh
for words in 'workload list' 'explain pod nb' 'gpu list' 'train logs nb' 'notebook url nb'; do
  read -ra words <<<"$words"
  exits 2 anna "${words[@]}" --assets assets
  complains "kubectl is not installed on this machine, and --kubeconfig needs it"
done
