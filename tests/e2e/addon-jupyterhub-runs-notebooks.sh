#!/usr/bin/env bash
# gpuadm addon enable jupyterhub with JupyterHub, proxy and Jupyter of Debian: its proof logs in and starts a notebook that holds a GPU; users of a
# file log in and others do not, choose GPUs by the form, and keep their files; a hub that restarts keeps notebooks and logins; passwords are in
# no object and no command line; disable asks about notebooks, and the files stay. The GPUs are a double's, which the scheduler counts.
. "$(dirname "$0")/common"

image=$(lab jupyterhub)
node_with_two_gpus "$image"
mkdir -p assets/playbooks
sed -E 's,^  (jupyterhub_[a-z]+_image): .*,  \1: lab.local/jupyterhub:1,; s,image: "quay.io/jupyter/[^"]*",image: "lab.local/jupyterhub:1",' \
  "$top/playbooks/catalog.yaml" >assets/playbooks/catalog.yaml
addon() { gpuadm addon "$1" "${@:2}" -f cluster.yaml --assets assets; }
objects() { kube get all,configmaps,secrets,persistentvolumeclaims,persistentvolumes,serviceaccounts,roles,rolebindings -A -l gpuadm.io/kind -o name | sort | tr '\n' ' '; }
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }
address=$(kube get node node -o 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}')
exits 0 gpuadm storage add scratch local --host node --path /srv/scratch -f cluster.yaml -y
files=/srv/scratch/gpuadm-scratch/claims/gpuadm-jupyterhub/files

# The file of users.
printf 'anna:correct horse battery\nbob:staple-1234\ncarol:staple-5678:admin\n' >users.txt
chmod 0644 users.txt
exits 2 addon enable jupyterhub --set users=users.txt
complains "chmod 600"
chmod 0600 users.txt
exits 2 addon enable jupyterhub
complains "either users or oidc"
printf 'Anna:correct horse battery\n' >bad.txt
chmod 0600 bad.txt
exits 2 addon enable jupyterhub --set users=bad.txt
complains "bad.txt:1: the name of the user is invalid"
hides "correct horse"
is "$(objects)" ""

exits 0 addon enable jupyterhub --set users=users.txt --set storage=scratch
says "the add-on jupyterhub is enabled"
says "a user logged in, and a notebook ran a program on node (with GPUs: nvidia.com/gpu=1)"
is "$(kube -n gpuadm-jupyterhub get pods -l gpuadm.io/kind=jupyterhub-server -o name)" ""
# Passwords are hashed, and nowhere else.
kube -n gpuadm-jupyterhub get secrets,configmaps,pods -o json >stored.json
python3 - stored.json >plain.txt <<'END'
import base64, json, sys
for item in json.load(open(sys.argv[1]))["items"]:
    print(json.dumps(item))
    for value in item.get("data", {}).values() if item["kind"] == "Secret" else []:
        print(base64.b64decode(value).decode())
END
lacks -E 'correct horse|staple-' plain.txt || fail "a password is stored"
lacks -E 'correct horse|staple-' .local || fail "a password is in the run folder"

# Users reach it through a Service of their own.
kube apply -f - >/dev/null <<'END'
apiVersion: v1
kind: Service
metadata: { name: public, namespace: gpuadm-jupyterhub }
spec: { type: NodePort, selector: { app: proxy }, ports: [{ port: 80, targetPort: 8000 }] }
END
port=$(kube -n gpuadm-jupyterhub get service public -o 'jsonpath={.spec.ports[0].nodePort}')
answers() { lab net curl -s -o answer --max-time 10 "http://$address:$port/hub/login"; }
within 60 "the port of the Service" answers
user() { lab net "$top/tests/lib/hub-user" "http://$address:$port" "$@"; }
cell() { lab net "$top/tests/lib/run-cell" "$address" "$port" "$token" "$2" "/user/$1"; }
! user anna "wrong password" login >out 2>err || fail "a wrong password is accepted"
complains "the login was refused"
! user nobody "correct horse battery" login >out 2>err || fail "an unknown user is accepted"
user carol staple-5678 login

# By the form: both GPUs, and files that stay.
token=$(user anna "correct horse battery" start 2)
is "$(kube -n gpuadm-jupyterhub get pod notebook-anna -o 'jsonpath={.spec.containers[0].resources.limits.nvidia\.com/gpu}')" 2
is "$(cell anna 'print(6 * 7)')" 42
is "$(cell anna 'import os; print(open("/home/jovyan/kept", "w").write("text"), os.getuid())')" "4 1000"
is "$(on node "cat $files/users/anna/kept")" text
exits 0 gpuadm workload list -f cluster.yaml -o json
jq -e '[.workloads[] | select(.kind == "jupyterhub-server")] | length == 1 and .[0].name == "anna" and .[0].gpus == "2"' out >/dev/null || fail "the list is wrong"
# No GPU is free for the proof.
exits 0 addon verify jupyterhub
says "without a GPU: none is free now"

# The hub restarts: the notebook runs, and its user is known.
kube -n gpuadm-jupyterhub rollout restart deployment/hub >/dev/null
hub_is_new() { kube -n gpuadm-jupyterhub rollout status deployment/hub --timeout=15s; }
within 300 "the new hub" hub_is_new
anna_runs() { cell anna 'print("again")' >again 2>err; }
within 240 "the notebook to run through the new hub" anna_runs
is "$(cat again)" again

# Another user does not reach it, and a second notebook of the node has no GPU left.
token_of_anna=$token
token=$(user bob staple-1234 start 0)
is "$(cell bob 'import os; print(os.path.exists("/home/jovyan/kept"))')" False
! cell anna 'print(1)' >out 2>err || fail "bob runs programs in the notebook of anna"
user bob staple-1234 stop
token=$token_of_anna

# Disable asks about notebooks; files stay.
exits 3 gpuadm reset -f cluster.yaml -y
complains "jupyterhub-server gpuadm-jupyterhub/anna (2 GPUs on node)"
exits 3 addon disable jupyterhub
complains "1 notebook would end, of: anna"
user anna "correct horse battery" stop
for _ in $(seq 240); do
  [ -n "$(kube -n gpuadm-jupyterhub get pod notebook-anna --ignore-not-found -o name)" ] || break
  sleep 1
done
kube -n gpuadm-jupyterhub delete service public >/dev/null
exits 0 addon disable jupyterhub -y
says "the data stays: $files on node"
is "$(objects)" ""
is "$(on node "cat $files/users/anna/kept")" text
is "$(kube get namespace gpuadm-jupyterhub --ignore-not-found -o name)" ""

# Enabled again, the files are there.
exits 0 addon enable jupyterhub --set users=users.txt --set storage=scratch
kube -n gpuadm-jupyterhub exec deployment/hub -- ls /srv/jupyterhub >listed
grep -q jupyterhub.sqlite listed || fail "the state of the hub is lost"
exits 0 addon disable jupyterhub -y

# An image that is missing: named in time, and nothing is left.
sed -i 's,^  jupyterhub_hub_image: .*,  jupyterhub_hub_image: 127.0.0.1:1/none:1,' assets/playbooks/catalog.yaml
exits 1 addon enable jupyterhub --set users=users.txt --wait-timeout 120
complains "127.0.0.1:1/none:1"
complains "deleted what was created"
is "$(objects)" ""
