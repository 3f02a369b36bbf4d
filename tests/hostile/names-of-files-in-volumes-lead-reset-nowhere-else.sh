#!/usr/bin/env bash
# Containers choose the names of files in their volumes below /var/lib/kubelet: with a newline, a part of a name would be another path. Reset
# removes the volumes and nothing else, through no link.
. "$(dirname "$0")/common"

mkdir -p kubelet/theirs mysql
touch kubelet/theirs/file kubelet/"the"$'\n'"irs" mysql/ibdata1 passwd

resets() { # resets RUN TEXT
  step "$1" before.sh static-pods.sh reset.sh <<END
gpuadm_trees=$place/kubelet
reset_virtual_address() { :; }
reset_by_kubeadm() { :; }
reset_mounts() { awk -v at="$place/kubelet/" 'index(\$2, at) == 1 { print \$2 }' /proc/mounts; }
reset_claims() { :; }
rm() { case "\$*" in *"/var/run/kubernetes"*) ;; *) command rm "\$@" ;; esac; }
$2
END
  [ "$status" = 0 ] || fail "exit status $status"
}
resets before 'gpuadm_tables= && before_note'

volumes=kubelet/pods/uid/volumes/kubernetes.io~empty-dir/data
mkdir -p "$volumes/x"$'\n'"../mysql" "$volumes/y"$'\n'"pods/uid/volumes/kubernetes.io~empty-dir/data/link" kubelet/theirs/new
touch "$volumes/x"$'\n'"../mysql/ibdata1" "$volumes/y"$'\n'"pods/uid/volumes/kubernetes.io~empty-dir/data/link/passwd" \
  kubelet/config.yaml kubelet/theirs/new/file
ln -s "$place" "$volumes/link"
resets after reset_state
{ [ -e mysql/ibdata1 ] && [ -e passwd ]; } || fail "reset removed a file elsewhere"
left=$(cd kubelet && find . -mindepth 1 -printf '%P\0' | LC_ALL=C sort -z | tr '\0' ,)
[ "$left" = "the"$'\n'"irs,theirs,theirs/file," ] || fail "reset left: $left"
