#!/usr/bin/env bash
# The revisions of restored data are raised by etcd's program if all members can: otherwise clients that have seen later revisions ignore the
# restored objects. Data that was prepared differently is prepared again.
. "$(dirname "$0")/common"

own_playbooks
mkdir -p "$root/data/gpuadm"
cat >"$root/etc/kubernetes/manifests/etcd.yaml" <<END
    image: registry.k8s.io/etcd:3.6.8-0
    - --data-dir=$root/data
    - --name=one
    - --initial-advertise-peer-urls=https://10.0.0.1:2380
END
cat >bin/etcdutl <<END
#!/bin/sh
case "\$*" in
  *--help) cat $place/help ;;
  'snapshot restore '*)
    echo "\$*" >>$place/calls
    while [ "\$1" != --data-dir ]; do shift; done
    mkdir -p "\$2/member" ;;
esac
END
chmod +x bin/etcdutl
restores() { # restores BUMP PROGRAM
  step one static-pods.sh etcd.sh <<END
PATH=$place/bin:\$PATH etcd_sha256=abc etcd_cluster=one=https://10.0.0.1:2380 etcd_bump=$1
etcd_verify() { :; }
$2
END
}
for_bump() { # for_bump EXPECTED
  restores 0 'etcd_client() { cat '"$place"'/status; }; etcd_bumps abc one=https://10.0.0.1:2380'
  [ "$(cat out)" = "$1" ] || fail "revisions are raised by $(cat out), not $1"
}
echo '      --bump-revision uint   How much to increase the latest revision after restore' >help
for_bump 1000000000
echo '[{"Endpoint":"https://127.0.0.1:2379","Status":{"header":{"cluster_id":1,"member_id":2,"revision":123456,"raft_term":4},"version":"3.6.8"}}]' >status
for_bump 1000000000
sed -i 's/123456/1000123456/' status
for_bump 2000000000
echo '      --data-dir string' >help
for_bump 0

restores 0 'etcd_prepare && etcd_is_prepared'
[ "$status" = 0 ] || fail "exit status $status"
! grep -q bump calls || fail "an option that etcd does not have: $(cat calls)"
restores 1000000000 etcd_is_prepared
[ "$status" = 1 ] || fail "what was restored without it counts"
restores 1000000000 'etcd_prepare && etcd_is_prepared'
[ "$status" = 0 ] || fail "exit status $status"
tail -n 1 calls | grep -qF 'restore.db --bump-revision 1000000000 --mark-compacted --name one' || fail "revisions are not raised: $(cat calls)"
for_bump 'begun 1000000000'
restores 1000000000 'static_pods_are_stopped() { :; }; etcd_swap && etcd_is_restored'
[ "$status" = 0 ] || fail "exit status $status"
for_bump 'begun 1000000000'
restores 0 etcd_is_prepared
[ "$status" = 1 ] || fail "what was restored with it counts"
