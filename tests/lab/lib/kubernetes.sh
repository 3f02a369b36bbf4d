# shellcheck shell=bash
# Kubernetes 1.20 from Debian's own source package: fetch, make it build with Debian's Go, build.
# The result for one version stamp is a directory of static binaries under $LAB_CACHE/kubernetes/.

KUBE_SOURCE_VERSION=1.20.2
KUBE_PROGRAMS=(kubeadm kubelet kubectl kube-apiserver kube-controller-manager kube-scheduler kube-proxy)
KUBE_TREE=$LAB_CACHE/kubernetes/go/src/k8s.io/kubernetes

# apt-get with sources and lists of its own, so that this machine's apt configuration is not changed.
apt_private() { # apt_private DIR ARGUMENT...
  local dir=$1
  shift
  apt-get -q -o Dir::Etc::SourceList="$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir" -o APT::Sandbox::User=root "$@"
}

kubernetes_source() {
  [ -e "$KUBE_TREE/.gpuadm-ready" ] && return 0
  local dir=$LAB_CACHE/kubernetes
  say "fetching the source package of Kubernetes $KUBE_SOURCE_VERSION"
  rm -rf "$dir/go"
  mkdir -p "$dir/source" "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$(dirname "$KUBE_TREE")"
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $LAB_MIRROR bookworm main" \
    >"$dir/apt/sources.list"
  apt_private "$dir/apt" update
  (cd "$dir/source" && apt_private "$dir/apt" --download-only source kubernetes)
  dpkg-source --no-check -x "$dir"/source/kubernetes_*.dsc "$KUBE_TREE"

  # The vendored reflect2 reads runtime structures that Go 1.18 changed; Debian's package of it does not.
  rm -rf "$KUBE_TREE/vendor/github.com/modern-go/reflect2"
  cp -rL /usr/share/gocode/src/github.com/modern-go/reflect2 "$KUBE_TREE/vendor/github.com/modern-go/reflect2"
  kubernetes_openapi
  touch "$KUBE_TREE/.gpuadm-ready"
}

kubernetes_go() (
  cd "$KUBE_TREE" || exit
  export GOPATH=$LAB_CACHE/kubernetes/go GOCACHE=$LAB_CACHE/kubernetes/go-build
  export GO111MODULE=off CGO_ENABLED=0 GOFLAGS='' GOTOOLCHAIN=local
  nice -n 10 go "$@"
)

# kube-apiserver's OpenAPI definitions are generated code that the source package does not carry.
kubernetes_openapi() (
  local pkg=k8s.io/kubernetes inputs
  say "generating the OpenAPI definitions of kube-apiserver"
  kubernetes_go build -o "$LAB_CACHE/kubernetes/openapi-gen" "./vendor/k8s.io/kube-openapi/cmd/openapi-gen"
  cd "$KUBE_TREE" || exit
  inputs=$(grep -Rl --include='*.go' '+k8s:openapi-gen=' vendor/k8s.io pkg cmd plugin | xargs -n1 dirname |
    grep -v -e vendor/k8s.io/sample-apiserver -e vendor/k8s.io/code-generator -e vendor/k8s.io/kube-openapi |
    LC_ALL=C sort -u | sed "s#^#$pkg/#" | paste -sd, -)
  GOPATH=$LAB_CACHE/kubernetes/go GOCACHE=$LAB_CACHE/kubernetes/go-build GO111MODULE=off nice -n 10 \
    "$LAB_CACHE/kubernetes/openapi-gen" --logtostderr -i "$inputs" -p "$pkg/pkg/generated/openapi" \
    -O zz_generated.openapi -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt \
    -r "$LAB_CACHE/kubernetes/openapi-violations" --output-base "$LAB_CACHE/kubernetes/go/src"
)

kubernetes_ldflags() { # kubernetes_ldflags VERSION
  local version=$1 minor pkg key flags='-s -w'
  minor=${version#*.}
  for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    for key in gitVersion="v$version" gitMajor="${version%%.*}" gitMinor="${minor%%.*}" gitTreeState=clean \
      gitCommit=0000000000000000000000000000000000000000 buildDate=2021-01-13T00:00:00Z; do
      flags+=" -X $pkg.$key -X k8s.io/kubernetes/vendor/$pkg.$key"
    done
  done
  printf '%s\n' "$flags"
}

# Prints the directory with the binaries stamped VERSION, built when missing. A second version of the same
# source costs only the linking.
kubernetes_binaries() { # kubernetes_binaries VERSION
  local version=$1 out=$LAB_CACHE/kubernetes/bin-$1 program packages=()
  if [ ! -e "$out/.complete" ]; then
    kubernetes_source >&2
    for program in "${KUBE_PROGRAMS[@]}"; do packages+=("./cmd/$program"); done
    say "building Kubernetes $version (minutes)"
    rm -rf "$out"
    mkdir -p "$out"
    kubernetes_go build -p "$(nproc)" -trimpath -ldflags "$(kubernetes_ldflags "$version")" \
      -o "$out/" "${packages[@]}" >&2
    touch "$out/.complete"
  fi
  printf '%s\n' "$out"
}
