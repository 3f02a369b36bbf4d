#!/usr/bin/env bash
# Requests to etcd of this host go to a URL of its manifest: a loopback one if there is any. With an IPv6 advertise address, kubeadm lets etcd
# listen on [::1].
. "$(dirname "$0")/common"

own_playbooks
mkdir -p "$root/etc/kubernetes/pki/etcd"
for program in kubectl etcdctl curl; do
  printf '#!/bin/sh\necho "%s $*" >>%s/calls\n' "$program" "$place" >"bin/$program"
  chmod +x "bin/$program"
done
touch "$root/etc/kubernetes/admin.conf" "$root/etc/kubernetes/pki/etcd/healthcheck-client.key"

reached() { # reached URL LISTEN-CLIENT-URLS: by the steps of etcd, by reset, and by what reads a cluster
  printf '    image: registry.k8s.io/etcd:3.6.8-0\n    - --listen-client-urls=%s\n' "$2" >"$root/etc/kubernetes/manifests/etcd.yaml"
  : >calls
  works one before.sh static-pods.sh reset.sh etcd.sh <<END
PATH=$place/bin:\$PATH
etcd_client member list
reset_etcd list '{}' 3
END
  (cd books && PATH=$place/bin:$PATH purpose=status sh ./cluster.sh >"$place/out" 2>"$place/err" </dev/null)
  sed -nE '/member[ /]list/s/.* --(endpoints=|server )([^ ]+) .*/\2/p' calls >urls
  [ "$(cat urls)" = "$(printf '%s\n' "$1" "$1" "$1")" ] || fail "not $1, but: $(cat urls calls)"
}
reached https://127.0.0.1:2379 https://127.0.0.1:2379,https://10.0.0.1:2379
reached 'https://[::1]:2379' 'https://[::1]:2379,https://[fd00::1]:2379'
reached https://127.0.0.1:4001 https://10.0.0.1:4001,https://127.0.0.1:4001
reached https://127.0.0.1:2379 https://0.0.0.0:2379
reached 'https://[::1]:2379' 'https://[::]:2379'
reached https://10.0.0.1:2379 '"https://10.0.0.1:2379,https://10.0.1.1:2379"'
reached https://127.0.0.1:2379 ''

# The members are read before an upgrade, too, but not by other commands.
for purpose in upgrade ''; do
  : >calls
  (cd books && PATH=$place/bin:$PATH purpose=$purpose sh ./cluster.sh >"$place/out" 2>"$place/err" </dev/null)
  [ "$(grep -c 'cluster/member/list' calls)" = "$([ "$purpose" = upgrade ] && echo 1 || echo 0)" ] || fail "purpose $purpose: $(cat calls)"
done

metrics() { # metrics URL MANIFEST-LINE: the URL that what reads a cluster and what reads a host use
  printf '    - --name=one\n%s\n' "$2" >"$root/etc/kubernetes/manifests/etcd.yaml"
  : >calls
  (cd books && PATH=$place/bin:$PATH sh ./cluster.sh >"$place/out" 2>"$place/err" </dev/null)
  { echo kept\(\) '{ shift 3; "$@"; }' && sed -n '/^metrics() {/,/^}/p; /^flag_in() {/,/^}/p' books/probe.sh && echo metrics; } >probe
  PATH=$place/bin:$PATH sh -c 'has() { :; }; . ./probe' >printed 2>>err || :
  [ ! -s printed ] || fail "a line outside of the sections: $(cat printed)"
  sed -n 's/^curl .* //p' calls >urls
  [ "$(cat urls)" = "$(printf '%s\n' "$1" "$1")" ] || fail "not $1, but: $(cat urls calls)"
}
metrics 'http://[::1]:2381/metrics' '    - --listen-metrics-urls=http://[::1]:2381'
metrics http://127.0.0.1:2381/metrics '    - --listen-metrics-urls=http://127.0.0.1:2381,http://10.0.0.1:2381'
metrics http://127.0.0.1:2381/metrics ''
