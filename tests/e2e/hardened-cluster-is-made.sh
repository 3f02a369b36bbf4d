#!/usr/bin/env bash
# `init --profile hardened` on three control planes and a worker: Secrets are encrypted in etcd, kubelets serve certificates of the cluster,
# requests without credentials get no further than health, pods that want the host are refused, what was done is logged. The key is
# changed, a second init changes nothing, and reset leaves nothing of it.
. "$(dirname "$0")/common"

admin() { on one kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }
is() { [ "$1" = "$2" ] || fail "'$1' is not '$2'"; }
in_etcd() { # in_etcd NAME: the first bytes of a Secret
  admin -n kube-system exec etcd-one -- etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt \
    --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key get "/registry/secrets/default/$1" --print-value-only |
    head -c 80 | tr -c '[:print:]' .
}

hosts 3 one two three
lab up four --gpu h200x2
"$top/tests/lib/lab-cluster" --control-planes 3 one two three four >cluster.yaml
echo "controlPlane: { endpoint: \"$(lab address one):6443\" }" >>cluster.yaml
hardened() { init --profile hardened --skip-phases gpu -y; }
exits 0 hardened
has_a_cluster one 4

# Secrets in etcd are not to be read; each API server reads them.
admin create secret generic planted --from-literal=word=planted-value >/dev/null
case $(in_etcd planted) in "k8s:enc:secretbox:v1:key-"*) ;; *) fail "in etcd: $(in_etcd planted)" ;; esac
for host in one two three; do
  on "$host" "kubectl --kubeconfig /etc/kubernetes/admin.conf get secret planted -o 'jsonpath={.data.word}' | base64 -d" >out
  is "$(cat out)" planted-value
  is "$(on "$host" stat -c %a /etc/kubernetes/gpuadm/apiserver/encryption.yaml)" 600
done
absent four /etc/kubernetes/gpuadm/apiserver || fail "a worker has the keys"
lacks -E 'secret: "[A-Za-z0-9+/]{43}="' .local/state/gpuadm || fail "the key is in the run's folder"

# The audit log knows who made it, and not what is in it.
on one 'grep -c "\"planted\"" /var/lib/kubernetes/audit/audit.log' >out || fail "the audit log does not know of it"
on one '! grep planted-value /var/lib/kubernetes/audit/audit.log' >out || fail "the audit log has the value"

# Kubelets serve certificates of the cluster, and pods' logs are read over them.
for host in one two three four; do
  on "$host" "openssl s_client -connect 127.0.0.1:10250 -CAfile /etc/kubernetes/pki/ca.crt </dev/null 2>/dev/null" >out || true
  says 'Verify return code: 0'
done
exits 0 admin -n kube-system logs -l component=etcd --tail=1

if kubernetes_is_at_least 1.32; then
  is "$(on one 'curl -sk -o /dev/null -w "%{http_code}" https://127.0.0.1:6443/livez')" 200
  is "$(on one 'curl -sk -o /dev/null -w "%{http_code}" https://127.0.0.1:6443/version')" 401
else
  leaves_out "requests without credentials: their paths can be limited from 1.32"
fi
if kubernetes_is_at_least 1.23; then
  # shellcheck disable=SC2016 # expanded on the host
  ! on one 'kubectl --kubeconfig /etc/kubernetes/admin.conf run host --image=lab.local/sleep:1 --overrides="{\"spec\":{\"hostNetwork\":true}}"' >out 2>err ||
    fail "a pod got the host's network"
  grep -q 'violates PodSecurity' err || fail "refused for another reason: $(cat err)"
else
  leaves_out "Pod Security: from 1.23"
fi

# Pods get GPUs; the GPUs and the device plugin are doubles.
on four 'ctr -n k8s.io images import -' <"$(lab device-plugin)" >/dev/null
sed 's/COUNT/2/; s/tolerations:/nodeSelector: { kubernetes.io\/hostname: four }\n      &/' "$top/tests/lab/device-plugin/manifest.yaml" |
  on one 'kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -'
for _ in $(seq 240); do
  offered=$(administer one get node four -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')
  [ "$offered" != 2 ] || break
  sleep 1
done
is "$offered" 2
administer one apply -f - >/dev/null <<END
apiVersion: v1
kind: Pod
metadata: { name: training }
spec:
  containers:
    - { name: main, image: "lab.local/sleep:1", imagePullPolicy: Never, args: ["0"], resources: { limits: { nvidia.com/gpu: 1 } } }
END
administer one wait --for=condition=Ready pod/training --timeout=240s >/dev/null || fail "a pod with a GPU does not run"
exits 0 gpuadm verify -f cluster.yaml --only scheduling
says "1 of 2 pods with one GPU run, 1 waits"
administer one delete pod training --grace-period=1 >/dev/null

# A second init finds nothing to do.
changes_nothing hardened

# The doctor knows what the profile did, and of what it cannot do it says why.
gpuadm doctor -f cluster.yaml --stage security -o json >security.json || true
jq -r '.findings[] | select(.result == "fail" and .severity != "note") | "\(.host) \(.id) \(.message)"' security.json >open
[ ! -s open ] || fail "open: $(cat open)"
for item in 1.1.9 4.1.1 4.1.9; do
  jq -r --arg id "sec.cis.$item" '.findings[] | select(.id == $id and .result == "fail") | "\(.host) \(.id) \(.message)"' security.json
done >open
[ ! -s open ] || fail "modes of files: $(cat open)"
passed=$(jq '[.findings[] | select(.host == "one" and .result == "pass" and (.id | startswith("sec.cis.")))] | length' security.json)
[ "$passed" -ge 60 ] || fail "only $passed items of the benchmark pass on a control plane"

# Another key: what was written before is read, and nothing is left that the old one opens.
old=$(in_etcd planted)
exits 0 gpuadm certs rotate-encryption-key -f cluster.yaml -y
new=$(in_etcd planted)
case $new in "k8s:enc:secretbox:v1:key-"*) ;; *) fail "in etcd: $new" ;; esac
[ "${old%:*}" != "${new%:*}" ] || fail "the key is the same"
for host in one two three; do
  is "$(on "$host" 'grep -c "secret:" /etc/kubernetes/gpuadm/apiserver/encryption.yaml')" 1
  on "$host" "kubectl --kubeconfig /etc/kubernetes/admin.conf get secret planted -o 'jsonpath={.data.word}' | base64 -d" >out
  is "$(cat out)" planted-value
done
changes_nothing hardened

exits 0 gpuadm reset -f cluster.yaml -y
for host in one two three four; do
  absent "$host" /etc/kubernetes/gpuadm/apiserver /var/lib/kubernetes /etc/kubernetes/super-admin.conf >out || fail "$host keeps: $(cat out)"
done

# A cluster that was made without it is not changed half-way.
exits 0 init -y --no-wait --skip-phases gpu
exits 1 hardened
says "this cluster was created without security.profile: hardened"
