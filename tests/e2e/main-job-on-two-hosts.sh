#!/usr/bin/env bash
# The main job, once: a bundle is made from a mirror and a registry, signed and verified; `init` creates a cluster from it, `join` adds a
# worker, pods run on both and the doctor has no blocker; a second run changes nothing; `reset` restores both hosts. Then one of them becomes
# a node from packages and a registry, and is restored again. Other tests do each part in detail (tests/run --others).
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/mirror.sh
. "$top/tests/lib/mirror.sh"
# shellcheck source=tests/lib/packages.sh
. "$top/tests/lib/packages.sh"
# shellcheck disable=SC2154 # pid
trap 'stop; for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || :; done; lab down --all; rm -rf "$place"' EXIT

hosts 1 one two
cp cluster.yaml both.yaml
{ whole_host one && whole_host two; } >before

echo '== a bundle'
"$top/tests/lib/lab-cluster" one >cluster.yaml
mirror_programs "$(lab image "$(lab fitting containerd)")"
mirror_serve
gpuadm facts -f cluster.yaml -o json >facts.json
ssh-keygen -q -t ed25519 -N '' -C builder -f key
echo "builder@example.com $(cut -d' ' -f1,2 key.pub)" >signers
skip=crictl
has_image coredns || skip+=,coredns
exits 0 create --skip "$skip" -o b.tar.zst --sign key
exits 0 "$GPUADM" bundle verify b.tar.zst --signers signers
says "signed by builder@example.com"
stop
signed=(--bundle b.tar.zst --bundle-signers signers)

echo '== init, join'
exits 0 gpuadm init -f cluster.yaml "${signed[@]}" -y
cp both.yaml cluster.yaml
exits 0 gpuadm join two -f cluster.yaml "${signed[@]}" -y
has_a_cluster one 2
exits 0 gpuadm doctor -f cluster.yaml --stage cluster --fail-on blocker
within 240 "the cluster to be well" gpuadm status -f cluster.yaml
before=$(units one && units two)
changes_nothing gpuadm apply -f cluster.yaml "${signed[@]}" -y
[ "$(units one && units two)" = "$before" ] || fail "units were restarted"

echo '== reset'
exits 0 gpuadm reset -f cluster.yaml -y
{ whole_host one && whole_host two; } >after
diff before after >out || fail "reset left something"

echo '== packages'
lab down two
repository=$(lab repository "$bundle")
"$top/tests/lib/lab-cluster" one >cluster.yaml
from_packages "$version" >>cluster.yaml
names_a_server one
serve_packages "$repository/packages"
serve_registry "$repository/registry"
packages() { on one 'dpkg-query -W'; }
packages >before
exits 0 gpuadm init -f cluster.yaml -y
within 240 "the cluster to be well" gpuadm status -f cluster.yaml
on one 'apt-mark showhold | sort | tr "\n" " "' >out 2>err
says "kubeadm kubectl kubelet"
exits 0 gpuadm reset -f cluster.yaml -y
on one '! command -v kubelet kubeadm kubectl && [ ! -e /etc/apt/sources.list.d/kubernetes.list ]' >out 2>err || fail "reset left Kubernetes"
packages | diff before - >out || fail "reset left packages"
