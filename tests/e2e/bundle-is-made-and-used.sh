#!/usr/bin/env bash
# A bundle is made from an HTTP mirror and a registry (Debian's docker-registry) with the lab's real programs and images, signed,
# and a host without a default route, a network plugin or a container runtime of its own becomes a node of it. Nothing leaves the
# host for elsewhere. The archives of the container runtime, runc and the network plugins in the mirror are doubles: Debian's
# programs, packed and named like their projects' releases.
. "$(dirname "$0")/common"

registry=5711 web=5712 version=1.20.2
servers=()
stop() { for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || :; done; }
trap 'stop; lab down --all; rm -rf "$place"' EXIT

# --- The mirror: https://HOST/PATH is mirror/HOST/PATH --------------------------------------------------------------------------
pinned() { grep -oE "^  $1: \"[^\"]+\"" "$top/playbooks/catalog.yaml" | cut -d'"' -f2; }
summed() { (cd "$(dirname "$1")" && sha256sum "$(basename "$1")" >"$(basename "$1").$2"); }
image=$(lab image bookworm-containerd)
github=mirror/github.com
kube=mirror/dl.k8s.io/release/v$version/bin/linux/amd64
cni=$(pinned cni_plugins_version) runc=$(pinned runc_version)
containerd=$(grep -E '^  "1.14":' "$top/playbooks/catalog.yaml" | grep -oE 'containerd_version: "[^"]+"' | cut -d'"' -f2)
cni=$github/containernetworking/plugins/releases/download/v$cni/cni-plugins-linux-amd64-v$cni.tgz
runc=$github/opencontainers/runc/releases/download/v$runc
containerd=$github/containerd/containerd/releases/download/v$containerd/containerd-static-$containerd-linux-amd64.tar.gz
mkdir -p "$kube" "$(dirname "$cni")" "$runc" "$(dirname "$containerd")" work/bin
for program in kubeadm kubelet kubectl; do
  ln "$bundle/bin/$program" "$kube/" 2>/dev/null || cp "$bundle/bin/$program" "$kube/"
  sha256sum <"$kube/$program" | cut -d' ' -f1 >"$kube/$program.sha256"
done
tar -C "$image/usr/lib/cni" -czf "$cni" . && summed "$cni" sha256
cp "$image"/usr/bin/{containerd,containerd-shim-runc-v2,ctr} work/bin/
tar -C work -czf "$containerd" bin && summed "$containerd" sha256sum
cp "$image/usr/sbin/runc" "$runc/runc.amd64" && (cd "$runc" && sha256sum runc.amd64 >runc.sha256sum)
(cd mirror && exec python3 -m http.server --bind 127.0.0.1 "$web") >web.log 2>&1 &
servers+=($!)

# --- The registry ---------------------------------------------------------------------------------------------------------------
printf 'version: 0.1\nstorage: { filesystem: { rootdirectory: %s } }\nhttp: { addr: "127.0.0.1:%s" }\n' "$place/registry" "$registry" >registry.yml
docker-registry serve registry.yml >registry.log 2>&1 &
servers+=($!)
for _ in $(seq 100); do
  curl -fs "http://127.0.0.1:$registry/v2/" >/dev/null && curl -fs "http://127.0.0.1:$web/" >/dev/null && break
  sleep 0.2
done
for archive in "$bundle"/images/*.tar; do
  name=$(tar -xOf "$archive" manifest.json | sed 's/.*"RepoTags":\["\([^"]*\)".*/\1/')
  skopeo --insecure-policy copy -q --dest-tls-verify=false "docker-archive:$archive" "docker://127.0.0.1:$registry/${name#*/}" >skopeo.log 2>&1 ||
    { cat skopeo.log >&2 && exit 1; }
done

# --- The bundle -----------------------------------------------------------------------------------------------------------------
a_host node --image bookworm-bare
# What a host must have itself: kubeadm's helpers, of which this image lacks one.
(cd "$image" && tar -cf - usr/sbin/conntrack usr/lib/x86_64-linux-gnu/lib{netfilter_conntrack,nfnetlink,mnl}.so.*) | on node tar -C / -xf -
{
  sed "s/^network: .*/network: { plugin: bridge }\ncontrolPlane: { advertiseAddress: $(lab address node) }/" cluster.yaml
  # What the lab's own images have (tests/lab/README.md).
  echo '  runtime: { plugins: { io.containerd.grpc.v1.cri: { restrict_oom_score_adj: true } } }'
} >with-address.yaml
mv with-address.yaml cluster.yaml
gpuadm facts -f cluster.yaml -o json >facts.json
ssh-keygen -q -t ed25519 -N '' -C builder -f key
echo "builder@example.com $(cut -d' ' -f1,2 key.pub)" >signers
create() {
  "$GPUADM" bundle create --for cluster.yaml,facts.json --kubernetes-version "$version" --source "http://127.0.0.1:$web" \
    --mirror "k8s.gcr.io=http://127.0.0.1:$registry,lab.local=http://127.0.0.1:$registry" --image lab.local/sleep:1 \
    --skip coredns,crictl "$@"
}
exits 0 create -o b.tar.zst --sign key
exits 0 create -o again.tar.zst --sign key
cmp b.tar.zst again.tar.zst || fail "the same bundle has other bytes"
exits 0 "$GPUADM" bundle inspect b.tar.zst
says "k8s.gcr.io/kube-apiserver:v$version"
says "/usr/local/bin/containerd"
exits 0 "$GPUADM" bundle verify b.tar.zst --signers signers
says "signed by builder@example.com"
ssh-keygen -q -t ed25519 -N '' -C other -f other
exits 0 create -o other.tar.zst --sign other
exits 2 "$GPUADM" bundle verify other.tar.zst --signers signers
complains "its signature is of nobody"
stop

# --- A host that reaches nothing ------------------------------------------------------------------------------------------------
# shellcheck disable=SC2016 # expanded on the host
on node 'ip route del default; iptables -N elsewhere; iptables -A elsewhere -j DROP
  for net in 127.0.0.0/8 10.77.0.0/24 10.244.0.0/16 10.96.0.0/12 224.0.0.0/4; do iptables -I elsewhere -d $net -j RETURN; done
  iptables -I OUTPUT -j elsewhere; iptables -I FORWARD -j elsewhere'
export XDG_CACHE_HOME=$place/used
exits 0 gpuadm init -f cluster.yaml --bundle b.tar.zst --bundle-signers signers -y
has_a_cluster node
[ "$(on node iptables -nvxL elsewhere | awk '$3 == "DROP" { print $1 }')" = 0 ] ||
  fail "packets left for elsewhere: $(on node iptables -nvL elsewhere)"
changes_nothing gpuadm init -f cluster.yaml --bundle b.tar.zst --bundle-signers signers -y

# Another version is not what init is for.
exits 3 gpuadm init -f cluster.yaml --bundle "$(lab bundle --version 1.20.3)" -y
complains "gpuadm upgrade --bundle"
exits 2 gpuadm init -f cluster.yaml --bundle other.tar.zst --bundle-signers signers -y
