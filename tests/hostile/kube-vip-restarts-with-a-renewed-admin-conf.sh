#!/usr/bin/env bash
# The step of `certs renew` and `upgrade` that restarts kube-vip is done if the host has none, and due if admin.conf is newer than its process.
. "$(dirname "$0")/common"

root=$place/root
mkdir -p books "$root/etc/kubernetes/manifests" home
cp -r "$playbooks"/*.sh "$playbooks"/*.yaml "$playbooks"/certs books/
sed -i "s#/etc/kubernetes#$root/etc/kubernetes#g" books/*.sh books/certs/*
playbooks=$place/books
for book in certs upgrade repair-address; do grep -q 'certs/vip.yaml' "books/$book.yaml" || fail "kube-vip is not restarted by $book.yaml"; done
sed -n '/^    check: |/,/^    apply: |/{/^    [ac]/d;p}' books/certs/vip.yaml >check
grep -q kube-vip check || fail "there is no check"
due() { # due CODE
  cat - check >checked <<END
static_pod_pids() { [ "\$1" != kube-vip ] || cat $place/pid; }
END
  step one static-pods.sh <checked
  [ "$status" = "$1" ] || fail "exit status $status, not $1"
}
touch -d '2020-01-01' "$root/etc/kubernetes/admin.conf"
due 0
touch "$root/etc/kubernetes/manifests/kube-vip.yaml"
sleep 600 &
other=$!
echo "$other" >pid
sleep 1
touch "$root/etc/kubernetes/admin.conf"
due 1
sleep 2
sleep 600 &
echo $! >pid
due 0
kill "$other" $!
