#!/usr/bin/env bash
# A bundle is made from an HTTP mirror and a registry (Debian's docker-registry) with the lab's real programs and images, signed,
# and a host without a default route, a network plugin, a container runtime or conntrack becomes a node of it. Nothing leaves the
# host for elsewhere. What of the mirror is a double, tests/lib/mirror.sh says.
. "$(dirname "$0")/common"

# shellcheck source=tests/lib/mirror.sh
. "$top/tests/lib/mirror.sh"

skip=crictl
has_image coredns || skip+=,coredns
image=$(lab image "$(lab fitting containerd)")
mirror_programs "$image"
# shellcheck disable=SC2086 # several
debian_packages $programs
debian_releases
mirror_serve

# --- The bundle -----------------------------------------------------------------------------------------------------------------
a_host node --image "$(lab fitting bare)"
cri=io.containerd.grpc.v1.cri
case $image in *containerd-2*) cri=io.containerd.cri.v1.runtime ;; esac
{
  sed "s/^network: .*/network: { plugin: bridge }\ncontrolPlane: { advertiseAddress: $(lab address node) }/" cluster.yaml
  # What the lab's own images have (tests/lab/README.md).
  echo "  runtime: { plugins: { $cri: { restrict_oom_score_adj: true } } }"
} >with-address.yaml
mv with-address.yaml cluster.yaml
gpuadm facts -f cluster.yaml -o json >facts.json
ssh-keygen -q -t ed25519 -N '' -C builder -f key
echo "builder@example.com $(cut -d' ' -f1,2 key.pub)" >signers
exits 0 create --skip "$skip" -o b.tar.zst --sign key
exits 0 create --skip "$skip" -o again.tar.zst --sign key
cmp b.tar.zst again.tar.zst || fail "the same bundle has other bytes"
exits 0 "$GPUADM" bundle inspect b.tar.zst
says "$(image_of kube-apiserver)"
says "/usr/local/bin/containerd"
exits 0 "$GPUADM" bundle verify b.tar.zst --signers signers
says "signed by builder@example.com"
ssh-keygen -q -t ed25519 -N '' -C other -f other
exits 0 create --skip "$skip" -o other.tar.zst --sign other
exits 2 "$GPUADM" bundle verify other.tar.zst --signers signers
complains "the signature is not from a signer"
stop

# --- A host that reaches nothing ------------------------------------------------------------------------------------------------
reaches_nothing node
export XDG_CACHE_HOME=$place/used
exits 0 gpuadm init -f cluster.yaml --bundle b.tar.zst --bundle-signers signers -y
has_a_cluster node
on node conntrack --version >out 2>&1 || fail "a program of kubeadm's did not come with the bundle"
nothing_left node
changes_nothing gpuadm init -f cluster.yaml --bundle b.tar.zst --bundle-signers signers -y

# Another version is not what init is for.
if newer=$(lab bundle --next); then
  exits 3 gpuadm init -f cluster.yaml --bundle "$newer" -y
  complains "gpuadm upgrade --bundle"
else
  leaves_out "another version: there is no bundle of the next patch release of $version"
fi
exits 2 gpuadm init -f cluster.yaml --bundle other.tar.zst --bundle-signers signers -y
