#!/usr/bin/env bash
# init, join and verify test that pods on two nodes reach each other and the API server's Service, and name the node, the
# address and the likely cause where they do not. What was tested once is not tested again, and nothing is left behind.
. "$(dirname "$0")/common"

hosts 1 one two
exits 0 init -y
[ "$(events | grep -c '"did":"applied".*"step":"verify.network"')" = 1 ] || fail "the network was not tested"
on one 'test -s /var/lib/gpuadm/network-proof' || fail "what was tested is not recorded"
kube() { administer one "$@"; }
gone() { # the namespace goes by itself
  local deadline=$((SECONDS + 180))
  while kube get namespace gpuadm-verify -o name 2>/dev/null | grep >/dev/null .; do
    [ "$SECONDS" -lt "$deadline" ] || {
      kube get namespace gpuadm-verify -o 'jsonpath={.status}' && kube get pods -A
      fail "the namespace gpuadm-verify is left"
    } >&2
    sleep 0.5
  done
}
gone
changes_nothing init -y

verify() { gpuadm verify -f cluster.yaml "$@"; }
exits 0 verify
says "reaches pods on 1 other node; reaches the API server's Service"
grep -qE '^two +ok +network' out || fail "the worker was not tested"
if has_image coredns; then dns='ok +dns +kubernetes\.default'; else dns='skipped +dns +the cluster has no DNS'; fi
grep -qE "^one +$dns" out || fail "dns is neither tested nor skipped"
gone

# A route that is missing is named, by verify.
cidr=$(kube get node two -o 'jsonpath={.spec.podCIDR}')
on one "ip route del $cidr"
exits 1 verify --only network
says "a pod on one does not reach a pod on two"
says "one has no route to $cidr"
says "$(lab address two)"
on one "ip route add $cidr via $(lab address two)"
exits 0 verify --only network
gone

# Traffic that is dropped ends init with the finding; once it passes, the same command continues.
on one 'rm /var/lib/gpuadm/network-proof'
on two "iptables -I FORWARD -d $cidr -j DROP"
exits 1 init -y
says "a pod on one does not reach a pod on two"
says "packets with pod addresses are probably dropped between the nodes"
on one 'test ! -e /var/lib/gpuadm/network-proof' || fail "a test that failed is recorded"
on two "iptables -D FORWARD -d $cidr -j DROP"
exits 0 init -y --no-wait
says "nothing to do"
says "skipped"
exits 0 init -y
on one 'test -s /var/lib/gpuadm/network-proof' || fail "what was tested is not recorded"
gone
changes_nothing init -y

# After a node was started again it is tested again.
on one 'sed -i "s/^node\ttwo\t.*/node\ttwo\tother/" /var/lib/gpuadm/network-proof'
exits 0 init -y
[ "$(events | grep -c '"did":"applied".*"step":"verify.network"')" = 1 ] || fail "a node that has changed was not tested"
