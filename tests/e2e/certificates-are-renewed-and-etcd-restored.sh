#!/usr/bin/env bash
# Certificates that end soon are renewed and in use; a snapshot of etcd restores the objects, also after a restore that was killed;
# one that is damaged is refused before anything changes.
. "$(dirname "$0")/common"

admin() { on node kubectl --request-timeout=20s "$@"; } # as root, with root's own kubeconfig
served() { on node 'openssl s_client -connect 127.0.0.1:6443 </dev/null 2>/dev/null | openssl x509 -noout -serial'; }
file() { on node openssl x509 -noout -serial -in /etc/kubernetes/pki/apiserver.crt; }
has() { admin get configmap "$1" -o name >/dev/null 2>&1; }

a_host node
exits 0 init -y

# The API server's certificate ends in five days.
on node 'cd /etc/kubernetes/pki && openssl x509 -x509toreq -copy_extensions copy -in apiserver.crt -signkey apiserver.key 2>/dev/null |
  openssl x509 -req -copy_extensions copy -CA ca.crt -CAkey ca.key -set_serial 4711 -days 5 -out short.crt 2>/dev/null && mv short.crt apiserver.crt'
before=$(file)
exits 0 gpuadm certs status -f cluster.yaml
[ "$(awk 'NR == 2 { print $2, $3, $5 }' out)" = "4 d /etc/kubernetes/pki/apiserver.crt" ] || fail "the certificate that ends first is another"
exits 0 gpuadm certs renew -f cluster.yaml --dry-run
says "dry run: nothing was changed"
[ "$(file)" = "$before" ] || fail "a dry run has changed something"
exits 0 gpuadm certs renew -f cluster.yaml -y
[ "$(file)" != "$before" ] || fail "the certificate is the old one"
[ "$(served)" = "$(file)" ] || fail "what is served is not the file"
exits 0 gpuadm certs status -f cluster.yaml -o json
[ "$(jq '[.certificates[].days] | min' out)" -gt 300 ] || fail "a certificate ends soon"
jq -e '.certificates | map(.certificate) | index("https://127.0.0.1:6443")' out >/dev/null || fail "what is served is not in the list"
cp out whole
on node 'printf "%s\n" "-----BEGIN CERTIFICATE-----" "MIIB" "-----END CERTIFICATE-----" >/etc/kubernetes/pki/a.crt'
exits 0 gpuadm certs status -f cluster.yaml -o json
diff <(jq -S .certificates whole) <(jq -S .certificates out) || fail "one that cannot be read keeps others from being read"
on node rm /etc/kubernetes/pki/a.crt
admin get nodes >out 2>err || fail "root's kubeconfig does not work"
exits 0 gpuadm certs renew -f cluster.yaml -y
says "nothing to do"
on node '[ -d /var/lib/gpuadm/journal ] && ! grep -rlE "PRIVATE KEY|client-key-data" /var/lib/gpuadm' || fail "a key is in the journal"

# Certificates that have expired, the API server's and the administrator's: said beforehand with the way out, which works.
on node sh -es <<'END' >out 2>err || fail "no expired certificate could be made"
work=$(mktemp -d) pki=/etc/kubernetes/pki
cd "$work"
: >index && echo 1000 >serial
printf '%s\n' '[ca]' 'default_ca=a' '[a]' 'database=index' 'serial=serial' 'new_certs_dir=.' 'default_md=sha256' 'policy=p' \
  'copy_extensions=copy' 'unique_subject=no' '[p]' 'commonName=supplied' 'organizationName=optional' >settings
expired() { # expired CERTIFICATE KEY
  openssl x509 -x509toreq -copy_extensions copy -in "$1" -signkey "$2" -out request
  openssl ca -batch -notext -config settings -cert "$pki/ca.crt" -keyfile "$pki/ca.key" -startdate 20250101000000Z \
    -enddate 20250201000000Z -in request -out "$1"
}
expired "$pki/apiserver.crt" "$pki/apiserver.key"
for part in certificate key; do sed -n "s/^ *client-$part-data: //p" /etc/kubernetes/admin.conf | base64 -d >"admin.$part"; done
expired admin.certificate admin.key
sed -i "s/^\( *client-certificate-data: \).*/\1$(base64 -w0 <admin.certificate)/" /etc/kubernetes/admin.conf
rm -r "$work"
ctr -n k8s.io tasks kill --signal SIGTERM "$(ctr -n k8s.io containers ls | awk '/kube-apiserver/ { print $1 }' | xargs -n 1 sh -c 'ctr -n k8s.io tasks ls | grep -q "^$0 .*RUNNING" && echo "$0"' | head -n 1)"
END
expired_is_served() { [ "$(served 2>/dev/null)" = "$(file)" ]; }
deadline=$((SECONDS + 240))
until expired_is_served; do
  [ "$SECONDS" -lt "$deadline" ] || fail "the expired certificate is not served"
  sleep 1
done
! admin get nodes >out 2>err || fail "an expired certificate is taken"
on node 'cd /etc && find kubernetes -type f -exec sha256sum {} + | sort' >files
exits 3 init -y
complains "expired"
complains "gpuadm certs renew node"
on node 'cd /etc && find kubernetes -type f -exec sha256sum {} + | sort' | diff files - >out || fail "init has changed something"
exits 0 gpuadm certs renew -f cluster.yaml -y
admin get nodes >out 2>err || fail "what was renewed does not work"
exits 0 init -y

# A snapshot, and what is refused.
admin create configmap kept --from-literal=a=b >/dev/null
exits 0 gpuadm etcd snapshot -f cluster.yaml --to snapshot.db
says "revision"
[ "$(stat -c %a snapshot.db)" = 600 ] || fail "others can read the snapshot"
sha256sum --quiet -c snapshot.db.sha256
absent node /var/lib/etcd/gpuadm || fail "the snapshot is left on the host"
exits 2 gpuadm etcd snapshot -f cluster.yaml --to snapshot.db
head -c 100000 snapshot.db >cut.db
exits 3 gpuadm etcd restore cut.db -f cluster.yaml -y
complains "damaged"
(head -c 20000 snapshot.db && printf xxxx && tail -c +20005 snapshot.db) >bad.db
exits 3 gpuadm etcd restore bad.db -f cluster.yaml -y
complains "its checksum does not match"
cp snapshot.db other.db
sed 's/^./x/' snapshot.db.sha256 >other.db.sha256
exits 3 gpuadm etcd restore other.db -f cluster.yaml -y
complains "other.db.sha256"
admin delete configmap kept >/dev/null
admin create configmap later >/dev/null

# Killed while the control plane stands still, and run again.
"$top/tests/lab/lab" net "$GPUADM" etcd restore snapshot.db -f cluster.yaml -y >out 2>err </dev/null &
running=$!
in_phase etcd/restore "$running"
sleep 3
kill -KILL "$running"
wait "$running" 2>/dev/null || true
exits 0 gpuadm etcd restore snapshot.db -f cluster.yaml -y
has kept || fail "what the snapshot held is not there"
! has later || fail "what came after the snapshot is still there"
admin wait --for=condition=Ready node/node --timeout=240s >/dev/null || fail "the node is not Ready"
on node 'ls -d /var/lib/etcd/member.before-* >/dev/null && [ ! -d /var/lib/etcd/gpuadm ]' || fail "the old data is not kept, or the snapshot is left"
admin run after --image=lab.local/sleep:1 --image-pull-policy=Never --restart=Never -- 0 here >/dev/null
admin wait --for=condition=Ready pod/after --timeout=240s >/dev/null || fail "no pod runs after the restore"

exits 0 gpuadm etcd defrag -f cluster.yaml -y
exits 0 gpuadm etcd defrag -f cluster.yaml -y
says "nothing to do"
