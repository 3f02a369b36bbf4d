#!/usr/bin/env bash
# A user with nothing but a kubeconfig, as another account of the client that has no SSH key, agent or program: lists GPUs and workloads, makes a
# notebook, keeps its tunnel while the pod is replaced, trains on two nodes, claims a volume, serves a model from it, and learns why a pod does
# not start. What needs hosts or more rights is refused with who can do it; nothing of other namespaces is shown. The GPUs are a double's: pods get
# none, but the scheduler and the quota count them.
. "$(dirname "$0")/common"

notebook_image=$(lab notebook)
llama_image=$(lab llama)
ready_nodes 1 one two
kube() { administer one "$@"; }
for taint in master control-plane; do kube taint nodes one "node-role.kubernetes.io/$taint-" >out 2>err || :; done
"$top/tests/lib/rank-image" rank.tar
for name in one two; do
  for image in "$notebook_image" "$llama_image" "$(lab device-plugin)" rank.tar; do
    on "$name" 'ctr -n k8s.io images import - >/dev/null' <"$image" || fail "the image $image was not imported on $name"
  done
done
sed 's/COUNT/1/' "$top/tests/lab/device-plugin/manifest.yaml" | kube apply -f - >/dev/null
offers() { [ "$(kube get node "$1" -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')" = 1 ]; }
for name in one two; do within 240 "the node $name offers a GPU" offers "$name"; done
# A class without a provisioner: a claim gets the volume that exists.
kube apply -f - >/dev/null <<'EOF'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: manual }
provisioner: kubernetes.io/no-provisioner
---
apiVersion: v1
kind: PersistentVolume
metadata: { name: folder }
spec:
  capacity: { storage: 2Gi }
  accessModes: [ReadWriteOnce]
  storageClassName: manual
  persistentVolumeReclaimPolicy: Retain
  hostPath: { path: /srv/models }
EOF
layer=$(tar -xOf "$llama_image" manifest.json | jq -r '.[0].Layers[0]')
tar -xOf "$llama_image" "$layer" >layer.tar
tar -xOf layer.tar --wildcards '*usr/share/gpuadm/tiny.gguf' >tiny.gguf
for name in one two; do on "$name" 'mkdir -p /srv/models && cat >/srv/models/tiny.gguf' <tiny.gguf; done

# --- The user: an account with gpuadm, kubectl and a kubeconfig.
for name in anna ben; do
  exits 0 gpuadm user add "$name" --gpus 2 -f cluster.yaml -y
done
nobody=65534 home=$place/anna
mkdir -p "$home/bin" "$home/src"
chmod 711 "$place"
cp "$GPUADM" "$bundle/bin/kubectl" "$home/bin/"
mv "$home/bin/$(basename "$GPUADM")" "$home/bin/gpuadm" 2>/dev/null || :
printf '#!/bin/sh\necho "$*" >>%s/ssh-was-called\nexit 255\n' "$home" >"$home/bin/ssh"
chmod 755 "$home/bin/"*
config=$home/anna.kubeconfig
install -m 600 "$(find .local/state/gpuadm -name anna.kubeconfig)" "$config"
chown -R "$nobody:$nobody" "$home"
as_user=("$top/tests/lab/lab" net setpriv --reuid="$nobody" --regid="$nobody" --clear-groups
  env -i -C "$home" HOME="$home" TERM=dumb PATH="$home/bin:/usr/bin:/bin")
# user COMMAND...: of the user, in the lab's network.
user() { "${as_user[@]}" "$@"; }
anna() { user gpuadm "$@" --kubeconfig "$config"; }
create() { # create NAME [OPTION...]
  user gpuadm notebook create "$1" --image lab.local/notebook:1 --kubeconfig "$config" "${@:2}" -- \
    python3 -m notebook --ip=0.0.0.0 --port=8888 --allow-root --no-browser --notebook-dir=/home/jovyan/work
}
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }
# Everything of the user that gpuadm made, except the user.
objects() { kube -n anna get deployments,jobs,pods,services,secrets,configmaps,persistentvolumeclaims -l app.kubernetes.io/managed-by=gpuadm,gpuadm.io/kind!=user -o name | sort | tr '\n' ' '; }

# --- GPUs and workloads, before there are any.
exits 0 anna gpu list
says "HELD IN anna"
grep -qE '^one +GPU +1 +none' out || fail "the GPU of one is missing"
complains "unknown: which of them pods of other namespaces hold"
exits 0 anna workload list
complains "there are no workloads"

# --- Another user holds a GPU, which stays unknown; what the own quota allows is created, and more is not possible.
as_ben() { lab net "$bundle/bin/kubectl" --kubeconfig "$(find .local/state/gpuadm -name ben.kubeconfig)" "$@"; }
as_ben apply -f - >out 2>err <<'END' || fail "ben has no pod"
apiVersion: v1
kind: Pod
metadata: { name: holder }
spec:
  restartPolicy: Never
  containers:
    - { name: main, image: "lab.local/sleep:1", imagePullPolicy: Never, args: ["0"], resources: { limits: { nvidia.com/gpu: 1 } } }
END
within 120 "the pod of ben runs" as_ben wait --for=condition=Ready pod/holder --timeout=1s
exits 3 create nb --gpus 2
complains "2 GPUs: more than the cluster has"
complains "of which others may hold some"
hides holder
is "$(objects)" ""
as_ben delete pod holder --now >out 2>err

# --- A notebook, whose tunnel is there again after its pod was replaced.
exits 0 create nb --gpus 1
says "the notebook anna/nb is ready on"
says "gpuadm notebook url nb --kubeconfig $config"
exits 0 anna gpu list
says "anna/nb-"
exits 0 anna notebook list
grep -qE '^notebook +anna +nb +1 ' out || fail "the notebook is not listed"
: >seen
"${as_user[@]}" gpuadm notebook url nb --kubeconfig "$config" >seen 2>tunnel.err </dev/null &
running=$!
pids+=("$running")
seen_within 240 '^http://127\.0\.0\.1:[0-9]+/\?token=[0-9a-f]{48}$'
url=$(cat seen)
answers() { lab net curl -sS -m 20 -o answer -w '%{http_code}' "${url%%\?*}api" | grep -qx 200; }
answers || fail "the notebook does not answer through its tunnel"
grep -q 'the tunnel of kubectl port-forward is open until Ctrl-C' tunnel.err || fail "the tunnel is not named"
user kubectl --kubeconfig "$config" delete pod -l gpuadm.io/name=nb --now >out 2>err || fail "the pod was not deleted"
within 240 "the notebook answers after its pod was replaced, at the same address" answers
grep -q 'is open again' tunnel.err || fail "the tunnel was not opened again"
kill -INT "$running"
wait "$running" || fail "the tunnel did not end with Ctrl-C"
ended() { ! pgrep -f "port-forward --address 127.0.0.1 service/nb" >/dev/null; }
within 10 "kubectl ends with the tunnel" ended
exits 0 anna notebook stop nb
says "is stopped"
exits 0 anna notebook start nb
exits 0 anna notebook delete nb
is "$(objects)" ""

# --- A job on two nodes.
cat >"$home/src/meet.pl" <<'EOF'
use IO::Socket::INET;
$| = 1;
my ($rank, $size, $address, $port) = @ENV{qw(RANK WORLD_SIZE MASTER_ADDR MASTER_PORT)};
if ($rank == 0) {
  my $server = IO::Socket::INET->new(LocalAddr => $address, LocalPort => $port, Listen => 5, ReuseAddr => 1) or die "listen: $!";
  for (2 .. $size) { my $peer = $server->accept; print "got: ", scalar <$peer>; print $peer "welcome\n"; }
} else {
  my $peer;
  for (1 .. 60) { last if $peer = IO::Socket::INET->new(PeerAddr => $address, PeerPort => $port, Timeout => 5); sleep 1; }
  die "no connection to $address" unless $peer;
  print $peer "hello from $rank\n";
  print "answer: ", scalar <$peer>;
}
EOF
exits 0 user gpuadm train run meet --kubeconfig "$config" --nodes 2 --gpus 1 --image lab.local/rank:1 --wait 240 --src "$home/src" -- perl meet.pl
says "[0] got: hello from 1"
says "[1] answer: welcome"
exits 0 anna train list -o json
jq -e '.[0].name == "meet" and ([.[0].ranks[].node] | unique | length) == 2' out >/dev/null || fail "the job did not run on two nodes"
exits 0 anna train logs meet --rank 1
says "[1] answer: welcome"
exits 0 anna workload list
grep -qE '^train +anna +meet' out || fail "the job is not listed"
exits 0 anna train stop meet
is "$(objects)" ""

# --- A volume, and a model that is served from it.
exits 3 anna storage claim models --on data --size 1Gi
complains "the cluster has no StorageClass data"
complains "--on manual"
exits 0 anna storage claim models --on manual --size 1Gi
says "claim models in namespace anna: 1Gi of the StorageClass manual"
exits 2 anna storage claim models --on manual --size 1Gi
complains "already has a claim named models"
exits 0 anna serve create tiny --model models:/tiny.gguf --image lab.local/llama:1 --engine llama.cpp --context 512 --gpus 1
says "the served model anna/tiny is ready on"
says "answered: "
key=$(find "$home/.local/state/gpuadm" -name '*tiny.key')
is "$(stat -c '%a %u' "$key")" "600 $nobody"
exits 0 anna serve list
exits 0 anna serve show tiny
exits 0 anna serve logs tiny --lines 5
exits 0 anna serve stop tiny
exits 0 anna serve start tiny
exits 0 anna serve delete tiny

# --- Why a pod does not start: the quota.
exits 0 gpuadm user quota anna --gpus 0 -f cluster.yaml -y
exits 1 create nb --gpus 1 --keep
complains "quota"
complains "gpuadm explain pod anna/nb --kubeconfig $config"
exits 1 anna explain pod nb
says "quota"
exits 0 anna notebook delete nb
exits 0 gpuadm user quota anna --gpus 2 -f cluster.yaml -y

# --- What this user may not do, and what a kubeconfig cannot: with who can.
exits 1 anna workload list -n ben
complains "this user may not list"
complains "in the namespace ben"
complains "an administrator"
exits 2 anna gpu top
complains "--kubeconfig reaches no host"
complains "an administrator"
exits 1 anna gpu top --idle
says "one: unknown, because its health checks do not report"
exits 2 anna notebook list -f cluster.yaml
complains "--kubeconfig cannot be combined with hosts or a cluster file"
install -o "$nobody" tiny.gguf "$home/"
exits 2 anna serve create tiny --model ./tiny.gguf --image lab.local/llama:1 --engine llama.cpp
complains "which a kubeconfig does not reach"
mv "$home/bin/kubectl" "$home/kubectl"
without_kubectl() {
  # shellcheck disable=SC2016 # expanded by sh
  unshare --mount sh -c 'for file in /usr/bin/kubectl /usr/local/bin/kubectl; do [ ! -e "$file" ] || mount --bind /dev/null "$file"; done; exec "$@"' sh "$@"
}
exits 2 without_kubectl "${as_user[@]}" gpuadm workload list --kubeconfig "$config"
complains "kubectl is not installed on this machine, and --kubeconfig needs it"
mv "$home/kubectl" "$home/bin/kubectl"
chmod 640 "$config"
exits 2 anna workload list
complains "other users can read it (mode 0640)"
chmod 600 "$config"

# --- Other clusters: another authority, and a server that does not answer. A certificate that was revoked has no rights.
another() { # another SED-PROGRAM
  sed "$1" "$config" >"$home/other.kubeconfig"
  chown "$nobody:$nobody" "$home/other.kubeconfig"
  chmod 600 "$home/other.kubeconfig"
}
openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -subj /CN=other -days 2 2>openssl.log
another "s|certificate-authority-data: .*|certificate-authority-data: $(base64 -w0 other.pem)|"
exits 4 user gpuadm workload list --kubeconfig "$home/other.kubeconfig"
complains "x509"
complains "the kubeconfig is not of this cluster"
another 's|\(server: .*\):6443|\1:6444|'
exits 4 user gpuadm gpu list --kubeconfig "$home/other.kubeconfig"
complains "check that this machine reaches the server"
cp "$config" "$home/other.kubeconfig"
chown "$nobody:$nobody" "$home/other.kubeconfig"
exits 0 gpuadm user kubeconfig anna --revoke -f cluster.yaml -y
exits 1 user gpuadm workload list --kubeconfig "$home/other.kubeconfig"
complains "this user may not"

# --- No SSH, and no secret in what gpuadm writes or says.
[ ! -e "$home/ssh-was-called" ] || fail "ssh was called: $(cat "$home/ssh-was-called")"
[ ! -e "$home/.ssh" ] || fail "there is a folder for SSH"
