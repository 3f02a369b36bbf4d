#!/usr/bin/env bash
# A full disk, gpuadm killed, the connection cut, the host without power, in phases of join and remove: the next run continues and ends as one
# would that nothing had happened to. Two runs at once: one works, the other says who holds the lock.
. "$(dirname "$0")/common"

hosts 1 one two
join=(join two -f cluster.yaml --bundle "$bundle" -y)
remove=(remove two -f cluster.yaml -y)
sed '/name: two/d' cluster.yaml >alone.yaml
exits 0 gpuadm init -f alone.yaml --bundle "$bundle" -y
on two mkdir -p /etc/kubernetes
whole_host two >before

# interrupted PHASE HOW VERB...: in that phase; waits until gpuadm has ended.
interrupted() {
  local phase=$1 how=$2
  shift 2
  begins "$@"
  in_phase "$phase" "$running" || { wait "$running" || true; fail "there was no phase $phase: $*"; }
  case $how in
    killed) kill -KILL "$running" ;;
    cut) lab cut two ;;
    powerless) lab kill two ;;
  esac
  wait "$running" || true
  [ "$how" != powerless ] || { lab start two >/dev/null; }
}

# A disk that is full is named.
on two 'mount -t tmpfs -o size=64k tmpfs /etc/kubernetes && head -c 100k /dev/zero >/etc/kubernetes/theirs || true' 2>/dev/null
exits 1 gpuadm "${join[@]}"
says "the disk of /etc/kubernetes is full"
on two umount /etc/kubernetes

interrupted kube/packages killed "${join[@]}"
interrupted kube/images cut "${join[@]}"
interrupted kube/join powerless "${join[@]}"
# A second run gets the owner of the lock. The first one is stopped meanwhile: on a busy machine it might end before the second asks.
begins "${join[@]}"
in_phase kube/images "$running" || in_phase verify/cluster "$running" || fail "nothing was left to do"
kill -STOP "$running"
exits 3 gpuadm join two -f cluster.yaml --bundle "$bundle" -y
grep -qF "the host is locked by another run: " err || fail "it does not say who holds the lock"
kill -CONT "$running"
wait "$running" || { cp err seen; fail "the first of two runs did not end well"; }
changes_nothing gpuadm "${join[@]}"
has_a_cluster one 2

exits 0 gpuadm diff -f cluster.yaml --bundle "$bundle"
on two 'cp -p /etc/sysctl.d/99-gpuadm.conf /tmp/kept && echo "# theirs" >>/etc/sysctl.d/99-gpuadm.conf'
exits 1 gpuadm diff -f cluster.yaml --bundle "$bundle"
says "-# theirs"
on two 'cp -p /tmp/kept /etc/sysctl.d/99-gpuadm.conf && rm /tmp/kept'

# A full disk: with the host's journal on it, nothing is started; with a restored file on it, the next run restores it.
full two /var/lib/gpuadm
exits 1 gpuadm "${remove[@]}"
grep -qF "the disk of /var/lib/gpuadm is full" out err || fail "it does not say which disk is full"
[ -z "$(administer one get node two -o 'jsonpath={.spec.unschedulable}')" ] || fail "the node was drained anyway"
on two umount /var/lib/gpuadm
interrupted remove/drain killed "${remove[@]}"
interrupted reset/state cut "${remove[@]}"
full two /etc/containerd
exits 1 gpuadm "${remove[@]}"
says "the disk of /etc/containerd is full"
on two 'rm /etc/containerd/theirs && cp -a /etc/containerd /tmp/kept && umount /etc/containerd && rm -r /etc/containerd && mv /tmp/kept /etc/containerd'
exits 0 gpuadm "${remove[@]}"
whole_host two >after
diff before after || fail "remove left something"
