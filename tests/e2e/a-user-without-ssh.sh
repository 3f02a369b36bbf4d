#!/usr/bin/env bash
# A user who has nothing but a kubeconfig: added with a quota of one GPU, holds it and gets no second one, and does not get out of the namespace:
# every attempt is refused by the API server. An earlier certificate loses its rights, and the user is removed without a trace. The GPUs are a
# double's: a pod gets none, but the scheduler and the quota count them.
. "$(dirname "$0")/common"

node_with_two_gpus "$(lab device-plugin)"
user() { gpuadm user "$1" "${@:2}" -f cluster.yaml; }
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }
objects_of_users() {
  kube get namespaces,resourcequotas,limitranges,roles,rolebindings,clusterrolebindings,certificatesigningrequests -A -l gpuadm.io/kind=user -o name | sort | tr '\n' ' '
}
# as FILE ARGUMENT...: kubectl of a user on the client, who has no SSH.
as() { lab net env HOME="$place/nobody" "$bundle/bin/kubectl" --kubeconfig "$1" --request-timeout=20s "${@:2}"; }
mkdir nobody

# --- What is refused before anything changes.
exits 0 user list
complains "the cluster has no users"
exits 2 user add Anna -y
complains "invalid name of a user"
exits 2 user add anna --namespace kube-system -y
complains "belongs to the cluster"
exits 2 user show nobody
complains "the cluster has no user nobody"
kube create namespace theirs >/dev/null
exits 3 user add theirs -y
complains "--existing-namespace"
exits 0 user add anna --gpus 1 --dry-run
says "create Namespace anna"
says "requests.nvidia.com/gpu 1"
says "dry run: nothing was changed"
kubernetes_is_at_least 1.23 || complains "does not enforce Pod Security"
exits 0 user add ben --gpus 5 --dry-run
complains "the quota of 5 nvidia.com/gpu is above the 2 that the nodes have"
exits 2 user add ben --gpus 1/4:3 --dry-run
complains "no node divides its GPUs into 4 shares"
complains "gpuadm gpu share NODE 4"
is "$(objects_of_users)" ""

# --- Added once; the second run changes nothing, and another quota is not another user.
exits 0 user add anna --gpus 1 --cpus 8 --memory 4Gi --storage 10Gi -y
says "the user anna was added, in the namespace anna"
if kubernetes_is_at_least 1.22; then says "the certificate is valid for 90 days"; else says "(the cluster's signer decides; 90 were requested)"; fi
anna=$(find .local/state/gpuadm -name anna.kubeconfig)
is "$(stat -c %a "$anna")" 600
hides 'PRIVATE KEY|client-key-data'
is "$(kube get certificatesigningrequests -l gpuadm.io/kind=user -o name)" ""
before=$(objects_of_users)
exits 0 user add anna --gpus 1 --cpus 8 --memory 4Gi --storage 10Gi -y
says "nothing to do"
is "$(objects_of_users)" "$before"
exits 3 user add anna --gpus 2 -y
complains "the user anna exists, with another quota"
exits 0 user list -o json
jq -e '.users | length == 1 and .[0].name == "anna" and .[0].certificateValid and .[0].hard["requests.nvidia.com/gpu"] == "1"' out >/dev/null || fail "the list is wrong"
# The key was on no host, and in no log here: neither its own lines, nor a part of it as the kubeconfig has it.
key=$(sed -n 's/.*client-key-data: *//p' "$anna" | tr -d '"')
[ ${#key} -gt 100 ] || fail "the kubeconfig has no key"
base64 -d <<<"$key" | grep -v -e ----- | grep -E '.{40}' >parts
[ -s parts ] || fail "the private key has no lines"
echo "${key:60:80}" >>parts
on node 'journalctl -o cat --no-pager && cat /var/log/pods/*/*/*.log' >logs
grep -q kubelet logs || fail "there is no log of the host"
! lacks -F "${key:60:80}" "$anna" >/dev/null || fail "the search for the key does not find it"
while read -r part; do
  lacks -F "$part" logs || fail "the private key is in a log of the host"
  lacks -F "$part" . --exclude=anna.kubeconfig --exclude=parts || fail "the private key is in another file"
done <parts

# --- The user works in the namespace.
exits 0 as "$anna" auth can-i create pods
exits 0 as "$anna" get nodes
says node
pod() { # pod NAME GPUS
  as "$anna" apply -f - <<END
apiVersion: v1
kind: Pod
metadata: { name: $1 }
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - { name: main, image: "lab.local/sleep:1", imagePullPolicy: Never, args: ["0"], resources: { limits: { nvidia.com/gpu: $2 } } }
END
}
pod one 1 >/dev/null || fail "no pod with a GPU"
within 120 "the pod runs" as "$anna" wait --for=condition=Ready pod/one --timeout=1s
exits 1 pod two 1
complains "exceeded quota"
exits 0 as "$anna" logs one
exits 0 user quota anna
says "nvidia.com/gpu 1 of 1"
exits 0 user show anna
says "pod one"

# --- What a user does not get. Another user, another namespace, the nodes, rights, volumes of the cluster, certificates.
exits 0 user add ben --gpus 1 -y
ben=$(find .local/state/gpuadm -name ben.kubeconfig)
as "$ben" create secret generic diary --from-literal=text=private >/dev/null
as "$ben" run sleeper --image=lab.local/sleep:1 --image-pull-policy=Never --restart=Never -- 0 >/dev/null
attempts=0
refused() { # refused COMMAND...: of kubectl as anna, by the API server
  exits 1 as "$anna" "$@"
  grep -qE 'Forbidden|forbidden' err || fail "it was not refused by the API server: $*"
  attempts=$((attempts + 1))
}
refused_object() { # refused_object: from stdin
  cat >object.yaml
  refused create -f object.yaml
}
refused get secrets -n ben
refused get secret diary -n ben
refused get secrets -n kube-system
refused get secrets --all-namespaces
refused get pods -n ben
refused get pods --all-namespaces
refused get --raw /api/v1/namespaces/ben/pods/sleeper/log
refused get --raw "/api/v1/namespaces/ben/pods/sleeper/exec?command=id&stdout=true"
refused delete pod sleeper -n ben
refused get configmaps -n kube-system
refused get namespaces
refused create namespace mine
refused label namespace anna pod-security.kubernetes.io/enforce=privileged --overwrite
refused delete resourcequota gpuadm-user-anna
refused patch resourcequota gpuadm-user-anna --type merge -p '{"spec":{"hard":{"requests.nvidia.com/gpu":"8"}}}'
refused delete limitrange gpuadm-user-anna
refused create rolebinding more --clusterrole=cluster-admin --user=anna
refused create role more --verb=get --resource=nodes
refused create clusterrolebinding more --clusterrole=cluster-admin --user=anna
refused patch clusterrole gpuadm-user --type merge -p '{"rules":[]}'
refused label node node broken=yes
refused taint node node broken=yes:NoSchedule
refused delete node node
refused get --raw /api/v1/nodes/node/proxy/pods
refused get serviceaccounts -n kube-system
echo '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":[]}}' >token.json
refused create --raw /api/v1/namespaces/kube-system/serviceaccounts/default/token -f token.json
refused create --raw /api/v1/namespaces/anna/serviceaccounts/default/token -f token.json
refused get pods --as=system:admin
refused get certificatesigningrequests
refused_object <<END
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: { name: another }
spec: { request: $(openssl req -new -newkey rsa:2048 -nodes -keyout /dev/null -subj '/O=system:masters/CN=ben' 2>/dev/null | base64 -w0), signerName: kubernetes.io/kube-apiserver-client, usages: [client auth] }
END
refused_object <<'END'
apiVersion: v1
kind: PersistentVolume
metadata: { name: root }
spec: { capacity: { storage: 1Gi }, accessModes: [ReadWriteOnce], hostPath: { path: / } }
END
refused_object <<'END'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: large }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 11Gi } } }
END
refused_object <<'END'
apiVersion: v1
kind: ResourceQuota
metadata: { name: mine }
spec: { hard: { pods: "1" } }
END
refused_object <<'END'
apiVersion: v1
kind: Pod
metadata: { name: account }
spec: { serviceAccountName: theirs, containers: [ { name: main, image: "lab.local/sleep:1" } ] }
END
refused_object <<'END'
apiVersion: v1
kind: Pod
metadata: { name: critical }
spec: { priorityClassName: system-node-critical, containers: [ { name: main, image: "lab.local/sleep:1" } ] }
END
complains "exceeded quota: gpuadm-user-anna-priority"
if kubernetes_is_at_least 1.23; then
  refused_object <<'END'
apiVersion: v1
kind: Pod
metadata: { name: privileged }
spec: { containers: [ { name: main, image: "lab.local/sleep:1", securityContext: { privileged: true } } ] }
END
  complains 'violates PodSecurity "baseline'
else
  leaves_out "Pod Security: from 1.23"
fi
refused create service nodeport web --tcp=80
complains "services.nodeports"
refused create service loadbalancer web --tcp=80
[ "$attempts" -ge 35 ] || fail "only $attempts attempts"
# The token of a pod is that of an account without rights.
is "$(kube auth can-i --as=system:serviceaccount:anna:default list secrets -n anna 2>/dev/null || :)" no

# --- More GPUs, and then an earlier certificate is worth nothing.
# What an administrator has added to the quota stays.
kube patch resourcequota gpuadm-user-anna -n anna --type merge -p '{"spec":{"hard":{"pods":"20"}}}' >/dev/null
exits 0 user quota anna --gpus 2 -y
says "nvidia.com/gpu 1 of 2"
is "$(kube get resourcequota gpuadm-user-anna -n anna -o 'jsonpath={.spec.hard.pods}')" 20
exits 0 pod two 1
exits 0 user quota anna --gpus 1 -y
complains "the user holds more"
exits 0 user kubeconfig anna
says "--renew replaces it"
cp "$anna" old
exits 0 user kubeconfig anna --renew
cmp -s "$anna" old && fail "the certificate was not renewed"
exits 0 as old get pods
exits 2 user kubeconfig anna --revoke
complains "-y"
exits 2 user kubeconfig anna -y
exits 0 user kubeconfig anna --revoke --dry-run
says "dry run: nothing was changed"
exits 0 as old get pods
exits 0 user kubeconfig anna --revoke -y
says "earlier certificates of anna have no rights now"
exits 1 as old get pods
grep -q Forbidden err || fail "the earlier certificate still has rights"
exits 0 as "$anna" get pods
# An earlier kubeconfig is replaced in the same cluster only.
sed "s|certificate-authority-data:.*|certificate-authority-data: $(base64 -w0 </etc/hostname)|" old >foreign
exits 2 user kubeconfig anna --output foreign
complains "is a kubeconfig of the user anna in another cluster"
exits 0 user kubeconfig anna --output old
exits 0 as old get pods

# --- Two administrators at once: one user.
user add carl --gpus 1 -y >first 2>&1 &
one=$!
status=0 other=0
user add carl --gpus 2 -y >second 2>&1 || status=$?
wait "$one" || other=$?
cat first second >out
case $other:$status in
  0:0) fail "both administrators added another carl" ;;
  0:* | *:0) ;;
  *) fail "neither administrator added carl" ;;
esac
is "$(user list -o json | jq '[.users[] | select(.name == "carl" and .rights and .certificateValid)] | length')" 1

# --- Removed, with what was shown; what gpuadm did not create stays.
exits 0 user remove anna --dry-run
says "Pod anna/one"
says "delete the namespace anna"
exits 0 as "$anna" get pods
exits 0 user remove anna -y
says "the user anna was removed"
[ ! -e "$anna" ] || fail "the kubeconfig is left"
kube create serviceaccount ci -n theirs >/dev/null
kube create rolebinding ci --clusterrole=edit --serviceaccount=theirs:ci -n theirs >/dev/null
exits 3 user add theirs --existing-namespace --gpus 0 -y
complains "service accounts of the namespace theirs have rights by the RoleBinding theirs/ci"
kube delete rolebinding ci -n theirs >/dev/null
exits 0 user add theirs --existing-namespace --gpus 0 -y
complains "apply to all pods in theirs, also to those of others"
kube create configmap theirs -n theirs >/dev/null
exits 0 user remove theirs -y
says "stays with everything in it"
exits 0 kube get configmap theirs -n theirs
# A kubeconfig that is not of this user's identity any more is not deleted.
exits 0 user kubeconfig ben --revoke -y --output ben.new
for name in ben carl; do exits 0 user remove "$name" -y; done
[ -e "$ben" ] || fail "another kubeconfig was deleted"
is "$(objects_of_users)" ""

# The role of all users ends with the last one.
lacks_role() { [ -z "$(kube get clusterrole gpuadm-user --ignore-not-found -o name)" ]; }
lacks_role || fail "the ClusterRole of all users is left"

# --- Users of the cluster file. What is refused, is refused before anything changes, with its place.
described() { # described ITEM...: users.yaml, the cluster file with these users
  cp cluster.yaml users.yaml
  printf 'users:\n' >>users.yaml
  printf '  - %s\n' "$@" >>users.yaml
}
listed() { # listed FILE: what the objects of all users are, without their status
  kube get namespaces,resourcequotas,limitranges,roles,rolebindings,clusterrolebindings -A -l gpuadm.io/kind=user -o json |
    jq -c '.items[] | [.kind, .metadata.uid, .metadata.labels, .metadata.annotations, .spec, .rules, .subjects]' >"$1"
}
described '{ name: anna, gpus: 2, cpus: 8, memory: 4Gi }' '{ name: theirs }'
exits 3 gpuadm apply -f users.yaml -y
complains ":5: user theirs: the namespace theirs exists, and was not created for this user"
complains "existingNamespace: true"
is "$(objects_of_users)" ""
described '{ name: anna, gpus: 2, cpus: 8, memory: 4Gi }' '{ name: ben, gpus: 5 }' '{ name: emil }'
exits 1 gpuadm diff -f users.yaml
says "Add the user anna"
says "+create ResourceQuota anna/gpuadm-user-anna"
says "user ben: the quota of 5 nvidia.com/gpu is above the 2 that the nodes have"
is "$(objects_of_users)" ""
exits 0 gpuadm apply -f users.yaml -y
says "the user anna was added"
hides 'PRIVATE KEY|client-key-data'
is "$(user list -o json | jq -c '[.users[] | select(.rights and .certificateValid) | .name]')" '["anna","ben","emil"]'
anna=$(find .local/state/gpuadm -name anna.kubeconfig)
is "$(stat -c %a "$anna")" 600
exits 0 as "$anna" get pods
exits 0 on node grep -q 'name: emil' /etc/kubernetes/gpuadm/cluster.yaml
cp "$anna" first.kubeconfig
listed before
exits 0 gpuadm apply -f users.yaml -y
says "nothing to do"
listed after
cmp before after || fail "the second apply has changed an object"
cmp "$anna" first.kubeconfig || fail "the second apply has written a kubeconfig"
exits 0 gpuadm diff -f users.yaml
# Another quota comes back; what an administrator has added stays, and so does the kubeconfig.
kube patch resourcequota gpuadm-user-anna -n anna --type merge -p '{"spec":{"hard":{"pods":"20"}}}' >/dev/null
exits 0 user quota anna --gpus 1 -y
kube delete resourcequota gpuadm-user-emil -n emil >/dev/null
exits 1 gpuadm diff -f users.yaml
says "Change the quota of the user anna"
says "-requests.nvidia.com/gpu: 1"
says "+requests.nvidia.com/gpu: 2"
hides 'user emil'
exits 0 gpuadm apply -f users.yaml -y
is "$(kube get resourcequota gpuadm-user-anna -n anna -o 'jsonpath={.spec.hard.pods} {.spec.hard.requests\.nvidia\.com/gpu}')" "20 2"
is "$(kube get resourcequota gpuadm-user-emil -n emil --ignore-not-found -o name)" ""
cmp "$anna" first.kubeconfig || fail "a kubeconfig was written for another quota"
# A user whom the file does not list is named, and stays; one who was removed from the cluster is still in the file.
exits 0 gpuadm user add carl --gpus 1 -y -f users.yaml
complains "users.yaml lists users, and not carl"
exits 1 gpuadm diff -f users.yaml
says "gpuadm user remove carl -f users.yaml"
exits 0 gpuadm apply -f users.yaml -y
exits 0 user show carl
exits 0 gpuadm user remove ben -y -f users.yaml
complains "users.yaml lists the user ben: delete it there"
# Another group is another user.
described '{ name: anna, gpus: 2, cpus: 8, memory: 4Gi, group: "oidc:vision" }'
exits 3 gpuadm apply -f users.yaml -y
complains "the user anna exists, with no group"
for name in anna carl emil; do exits 0 user remove "$name" -y; done
is "$(objects_of_users)" ""

# --- A cluster that signs nothing: named, with the reason, and the user can be completed.
on node "sed -i '/--cluster-signing-/d' /etc/kubernetes/manifests/kube-controller-manager.yaml"
within 120 "the controller manager starts without its key" sh -c "! $top/tests/lab/lab ssh node 'pgrep -af kube-controller-manager' | grep -q cluster-signing && $top/tests/lab/lab ssh node 'pgrep -f ^kube-controller-manager'"
exits 1 user add dora -y
complains "the user dora was added, but has no certificate"
complains "has no key for signing"
complains "gpuadm user kubeconfig dora"
is "$(kube get certificatesigningrequests -l gpuadm.io/kind=user -o name)" ""
kube annotate rolebinding gpuadm-user-dora -n dora gpuadm.io/certificate-ends=2030-01-01T00:00:00Z >/dev/null
exits 1 user kubeconfig dora --revoke -y
complains "earlier certificates of dora have no rights now, and there is no new one"
complains "gpuadm user kubeconfig dora"
is "$(kube get rolebinding gpuadm-user-dora -n dora -o 'jsonpath={.metadata.annotations.gpuadm\.io/certificate-ends}')" ""
exits 0 user remove dora -y
is "$(objects_of_users)" ""
described '{ name: dora }'
exits 1 gpuadm apply -f users.yaml -y
says "the user dora was added, but has no certificate"
says "gpuadm user kubeconfig dora"
exits 0 user remove dora -y
is "$(objects_of_users)" ""
lacks_role || fail "the ClusterRole of all users is left"
