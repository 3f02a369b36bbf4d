# shellcheck shell=bash disable=SC2154
# What a bundle is made from, on this machine: an HTTP mirror and a registry (Debian's docker-registry) with the lab's real programs
# and images. The archives of the container runtime, runc and the network plugins in the mirror are doubles: Debian's programs, packed
# and named like their projects' releases. Behind tests/e2e/common: $top, $place, $bundle.
registry=5711 web=5712 version=$(kubernetes_version)
debian_release=$(lab fitting bare)
debian_release=${debian_release%-bare}
servers=()
stop() { for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || :; done; }
trap 'stop; lab down --all; rm -rf "$place"' EXIT

pinned() { grep -oE "^  $1: \"[^\"]+\"" "$top/playbooks/catalog.yaml" | cut -d'"' -f2; }
summed() { (cd "$(dirname "$1")" && sha256sum "$(basename "$1")" >"$(basename "$1").$2"); }

# mirror_programs IMAGE: https://HOST/PATH is mirror/HOST/PATH; programs of the lab's image with that root.
mirror_programs() {
  local image=$1 github=mirror/github.com kube=mirror/dl.k8s.io/release/v$version/bin/linux/amd64 cni runc containerd program
  cni=$(pinned cni_plugins_version) runc=$(pinned runc_version)
  containerd=$(awk -F'"' -v minor="${version#1.}" '/^  "1\.[0-9]+":/ && /containerd_version/ && substr($2, 3) + 0 <= minor + 0 {
    sub(/.*containerd_version: "/, ""); sub(/".*/, ""); found = $0 } END { print found }' "$top/playbooks/catalog.yaml")
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
}

debian=mirror/deb.debian.org/debian
# Debian's packages of what kubeadm calls.
# shellcheck disable=SC2034 # of tests
programs="conntrack ebtables ethtool iproute2 iptables mount socat util-linux"
# debian_packages NAME...: with what they need, whatever is installed, into the pool of a mirror of Debian.
debian_packages() {
  local apt=$place/apt deb
  mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$debian/pool"
  : >"$apt/status"
  printf 'deb %s %s main\n' "${GPUADM_LAB_MIRROR:-http://deb.debian.org/debian}" "$debian_release" >"$apt/sources"
  cat >"$apt/conf" <<END
Dir::State::lists "$apt/lists"; Dir::Cache::archives "$apt/archives"; Dir::State::status "$apt/status"; Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "$apt/sources"; Dir::Etc::sourceparts "-"; Acquire::Languages "none"; APT::Sandbox::User "root";
Acquire::Check-Valid-Until "false";
END
  (cd "$debian/pool" && export APT_CONFIG=$apt/conf && apt-get update &&
    apt-get install --print-uris -y --no-install-recommends "$@" |
    sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p" | xargs apt-get download) >apt.log 2>&1 || { cp apt.log out && fail "no packages of Debian"; }
  # Archives name files without the epoch.
  for deb in "$debian"/pool/*%3a*; do mv "$deb" "${deb/_*%3a/_}"; done
}
# suite FOLDER: its release lists the existing files, unsigned.
suite() {
  local index=main/binary-amd64/Packages.xz
  mkdir -p "$1/main/binary-amd64"
  xz >"$1/$index"
  { printf 'Origin: lab\nSHA256:\n'; printf ' %s %s %s\n' "$(sha256sum <"$1/$index" | cut -d' ' -f1)" "$(stat -c %s "$1/$index")" "$index"; } >"$1/InRelease"
}
# Of what is in the pool.
debian_releases() {
  (cd "$debian" && dpkg-scanpackages --multiversion pool 2>/dev/null) | suite "$debian/dists/$debian_release"
  suite "$debian/dists/$debian_release-updates" </dev/null
  suite "$debian-security/dists/$debian_release-security" </dev/null
}

# The mirror and a registry with the images of the lab's bundle answer.
mirror_serve() {
  local archive name
  (cd mirror && exec python3 -m http.server --bind 127.0.0.1 "$web") >web.log 2>&1 &
  servers+=($!)
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
}

# create OPTION...: a bundle from there for cluster.yaml and facts.json.
create() {
  "$GPUADM" bundle create --for cluster.yaml,facts.json --kubernetes-version "$version" --source "http://127.0.0.1:$web" \
    --mirror "registry.k8s.io=http://127.0.0.1:$registry,k8s.gcr.io=http://127.0.0.1:$registry,lab.local=http://127.0.0.1:$registry" --image lab.local/sleep:1 "$@"
}

# From now on the host reaches nothing but the lab and its pods; what tried to is counted.
reaches_nothing() {
  # shellcheck disable=SC2016 # expanded on the host
  on "$1" 'ip route del default; iptables -N elsewhere; iptables -A elsewhere -j DROP
    for net in 127.0.0.0/8 10.77.0.0/24 10.244.0.0/16 10.96.0.0/12 224.0.0.0/4; do iptables -I elsewhere -d $net -j RETURN; done
    iptables -I OUTPUT -j elsewhere; iptables -I FORWARD -j elsewhere'
}
nothing_left() {
  [ "$(on "$1" iptables -nvxL elsewhere | awk '$3 == "DROP" { print $1 }')" = 0 ] ||
    fail "packets left for elsewhere: $(on "$1" iptables -nvL elsewhere)"
}
