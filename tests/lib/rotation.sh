# shellcheck shell=bash disable=SC2154 # running is of begins
# Three hardened control planes whose encryption key is rotated, and rotations that are killed. For tests on hosts.
planes=(one two three)
hosts "${#planes[@]}" "${planes[@]}"
echo "controlPlane: { endpoint: \"$(lab address one):6443\" }" >>cluster.yaml
exits 0 init --profile hardened --skip-phases gpu -y
has_a_cluster one "${#planes[@]}"
rotate() { gpuadm certs rotate-encryption-key -f cluster.yaml -y; }
key_names() { on "$1" "sed -n 's/.*{ name: \"\\([^\"]*\\)\".*/\\1/p' /etc/kubernetes/gpuadm/apiserver/encryption.yaml"; }
administer one create secret generic planted-0 --from-literal=word=value-0 >/dev/null
first_key=$(key_names one)
count=0

# reads_all: on all, once they answer. The API server of a host whose program was killed may be restarting.
reads_all() {
  local host i
  for host in "${planes[@]}"; do
    for i in $(seq 0 "$count"); do
      [ "$(administer "$host" get secret "planted-$i" -o 'jsonpath={.data.word}' | base64 -d)" = "value-$i" ] || return 1
    done
  done
}
written() { count=$((count + 1)) && administer "${planes[-1]}" create secret generic "planted-$count" --from-literal="word=value-$count" >/dev/null; }
answers() {
  local host
  for host in "${planes[@]}"; do administer "$host" get --raw /readyz >/dev/null || return 1; done
}

# killed_in PHASE...: a rotation is killed in each of them, together with its programs on the hosts.
killed_in() {
  local phase host
  for phase in "$@"; do
    begins certs rotate-encryption-key -f cluster.yaml -y
    if in_phase "encryption/$phase" "$running"; then
      kill -9 "$running"
      # shellcheck disable=SC2016 # of the hosts
      for host in "${planes[@]}"; do
        on "$host" 'read -r pid _ </var/lib/gpuadm/lock/program && kill -9 $(ps -o pid= --ppid "$pid") "$pid"' 2>/dev/null || true
      done
    else
      cat out err
      fail "the phase $phase was not reached"
    fi
    wait "$running" || true
    within 300 "an API server answers after the kill in $phase" answers
    within 60 "every API server reads every Secret after the kill in $phase" reads_all
    written
    within 60 "every API server reads what was written after the kill in $phase" reads_all
    echo "killed in $phase: $SECONDS s"
  done
}

# completes: the next run ends the rotation, unless it has ended; one key is left, which is not the first, and no mark.
completes() {
  local host key
  # A whole rotation restarts every API server three times, and the kubelet waits longer before each restart of a container: minutes.
  absent one /etc/kubernetes/tmp/gpuadm-encryption-key || exits 0 rotate
  within 60 "every API server reads every Secret after the rotation" reads_all
  for host in "${planes[@]}"; do
    [ "$(key_names "$host" | wc -l)" = 1 ] || fail "$host has the keys $(key_names "$host")"
    absent "$host" /etc/kubernetes/tmp/gpuadm-encryption-key || fail "$host has the mark of an unfinished rotation"
  done
  key=$(key_names one)
  [ "$key" = "$(key_names "${planes[-1]}")" ] || fail "the control planes have different keys"
  [ "$key" != "$first_key" ] || fail "the key is the same"
  administer one -n kube-system exec etcd-one -- etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt \
    --cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key get /registry/secrets/default/ --prefix --print-value-only >values
  ! grep -a '^k8s:enc:' values | grep -av "^k8s:enc:secretbox:v1:$key:" | grep >/dev/null . || fail "another key is still used"
  [ "$(grep -ac "^k8s:enc:secretbox:v1:$key:" values)" -gt "$count" ] || fail "Secrets are encrypted with another key"
}
