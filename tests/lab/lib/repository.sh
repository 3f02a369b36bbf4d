# shellcheck shell=bash
# What pkgs.k8s.io and registry.k8s.io are to a host: a signed apt repository and a registry, made from the programs and images of
# bundles. Names, dependencies, units and the layout are those of https://github.com/kubernetes/release (cmd/krel/templates/latest).

REPOSITORY_REVISION=1.1

# Prints a folder: packages/core:/stable:/vMINOR/deb (the repository, signed by the key in key/), registry/ (the storage of a
# docker-registry), key/ (a GNUPGHOME) and fingerprint (the key's).
lab_repository() ( # lab_repository [BUNDLE...]
  local bundles=("$@") manifests=() bundle dir id
  if [ $# = 0 ]; then
    bundle=$(lab_bundle)
    bundles=("$bundle")
    bundle=$(lab_bundle --next)
    bundles+=("$bundle")
  fi
  for bundle in "${bundles[@]}"; do manifests+=("$bundle/manifest.yaml"); done
  id=$(cat "$LAB_HOME/lib/repository.sh" "$LAB_HOME"/{crictl,dns}/main.go "${manifests[@]}" | sha256sum | cut -c1-12)
  dir=$LAB_CACHE/repositories/$id
  hold_lock "$LAB_CACHE/repositories/lock" 1800 "another build of a repository"
  if [ ! -e "$dir/fingerprint" ]; then
    lab_deps
    repository_build "$dir" "${bundles[@]}"
    prune "$LAB_CACHE/repositories" '[0-9a-f]*'
  fi
  touch "$dir"
  printf '%s\n' "$dir"
)

repository_build() { # repository_build DIR BUNDLE...
  local dir=$1 new=$1.new bundle folder
  shift
  rm -rf "$dir" "$new"
  mkdir -p "$new/packages" "$new/work"
  for bundle in "$@"; do repository_packages "$new" "$bundle"; done
  repository_key "$new/key"
  for folder in "$new"/packages/*/*/*/deb; do repository_sign "$new/key" "$folder"; done
  repository_images "$new" "$@"
  GNUPGHOME=$new/key gpg --batch --with-colons --list-keys 2>/dev/null | awk -F: '$1 == "fpr" { print $10; exit }' >"$new/fingerprint"
  GNUPGHOME=$new/key gpgconf --kill all
  rm -rf "$new/work"
  mv "$new" "$dir"
}

# The packages of one bundle, together with those of others of its minor version.
repository_packages() { # repository_packages DIR BUNDLE
  local work=$1/work/root bundle=$2 version folder crictl cni tools=1.0.0 image
  version=$(bundle_version "$bundle")
  say "packing Kubernetes $version"
  folder="$1/packages/core:/stable:/v${version%.*}/deb"
  mkdir -p "$folder/amd64"
  image=$(lab_image "$(fitting_image containerd)")
  # shellcheck disable=SC2016 # dpkg-query's own notation
  cni=$(chroot "$image" dpkg-query -W -f '${Version}' containernetworking-plugins)
  cni=${cni%%[+-]*}
  crictl=$bundle/bin/crictl
  [ -x "$crictl" ] || crictl=$(stand_in crictl)

  rm -rf "$work"
  install -D -m 0755 "$bundle/bin/kubectl" "$work/usr/bin/kubectl"
  repository_deb "$folder" kubectl "$version" ''
  install -D -m 0755 "$bundle/bin/kubeadm" "$work/usr/bin/kubeadm"
  repository_drop_in "$work/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"
  repository_deb "$folder" kubeadm "$version" "$(repository_needs "$version")"
  install -D -m 0755 "$bundle/bin/kubelet" "$work/usr/bin/kubelet"
  repository_unit "$work/usr/lib/systemd/system/kubelet.service"
  install -D -m 0644 /dev/stdin "$work/etc/default/kubelet" <<<'KUBELET_EXTRA_ARGS='
  mkdir -p "$work/var/lib/kubelet" "$work/etc/kubernetes/manifests"
  touch "$work/var/lib/kubelet/.kubelet-keep" "$work/etc/kubernetes/manifests/.kubelet-keep"
  repository_deb "$folder" kubelet "$version" "kubernetes-cni (>= 0.8.7), mount, util-linux" "iptables (>= 1.8.4)" /etc/default/kubelet
  mkdir -p "$work/opt/cni/bin"
  cp -L "$image"/usr/lib/cni/* "$work/opt/cni/bin/"
  repository_deb "$folder" kubernetes-cni "$cni" ''
  install -D -m 0755 "$crictl" "$work/usr/bin/crictl"
  [ ! -x "$bundle/bin/crictl" ] || tools=${version%.*}.0
  repository_deb "$folder" cri-tools "$tools" ''
}

# Dependencies of kubeadm's package: from 1.32 nothing (metadata.yaml of the templates).
repository_needs() { # repository_needs VERSION
  local minor
  minor=$(version_minor "$1")
  if [ "$minor" -lt 30 ]; then
    echo 'kubelet (>= 1.19.0), kubectl (>= 1.19.0), kubernetes-cni (>= 0.8.7), cri-tools (>= 1.0.0)'
  elif [ "$minor" -lt 32 ]; then
    echo 'cri-tools (>= 1.0.0)'
  fi
}

# Packs $DIR/work/root, and empties it.
repository_deb() { # repository_deb FOLDER NAME VERSION DEPENDS [RECOMMENDS [CONFFILE]]
  local folder=$1 name=$2 version=$3-$REPOSITORY_REVISION root
  root=${folder%/packages/*}/work/root
  mkdir -p "$root/DEBIAN"
  {
    printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: lab <lab@lab.local>\n' "$name" "$version"
    printf 'Section: net\nPriority: optional\nInstalled-Size: %s\n' "$(du -sk "$root" | cut -f1)"
    [ -z "$4" ] || printf 'Depends: %s\n' "$4"
    [ -z "${5:-}" ] || printf 'Recommends: %s\n' "$5"
    printf 'Description: %s of Kubernetes, packed by tests/lab\n' "$name"
  } >"$root/DEBIAN/control"
  [ -z "${6:-}" ] || printf '%s\n' "$6" >"$root/DEBIAN/conffiles"
  # One that is there already is of another bundle of this minor.
  [ -e "$folder/amd64/${name}_${version}_amd64.deb" ] ||
    dpkg-deb -Zgzip -z1 --build --root-owner-group "$root" "$folder/amd64/${name}_${version}_amd64.deb" >/dev/null
  rm -rf "$root"
}

repository_unit() { # repository_unit FILE
  install -D -m 0644 /dev/stdin "$1" <<'E'
[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
E
}

repository_drop_in() { # repository_drop_in FILE
  install -D -m 0644 /dev/stdin "$1" <<'E'
# Note: This dropin only works with kubeadm and kubelet v1.11+
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
E
}

# A key of its own, without a passphrase.
repository_key() { # repository_key GNUPGHOME
  install -d -m 0700 "$1"
  GNUPGHOME=$1 gpg --batch --quiet --passphrase '' --quick-generate-key 'lab repository <lab@lab.local>' rsa3072 sign never 2>/dev/null
}

# repository_sign GNUPGHOME FOLDER: makes Packages, Release, InRelease, Release.gpg and Release.key of the packages in it.
repository_sign() (
  export GNUPGHOME=$1
  local file folder=$2 minor
  minor=$(basename "$(dirname "$folder")")
  cd "$folder" || exit
  dpkg-scanpackages --multiversion . >Packages 2>/dev/null
  gzip -9kfn Packages
  {
    printf 'Origin: obs://build.opensuse.org/isv:kubernetes:core:stable:%s/deb\nLabel: isv:kubernetes:core:stable:%s\n' "$minor" "$minor"
    printf 'Architectures: amd64\nDate: %s\nSHA256:\n' "$(date -Ru)"
    for file in Packages Packages.gz; do printf ' %s %s %s\n' "$(sha256sum <"$file" | cut -d' ' -f1)" "$(stat -c %s "$file")" "$file"; done
  } >Release
  rm -f InRelease Release.gpg Release.key
  gpg --batch --quiet --clearsign --output InRelease Release
  gpg --batch --quiet --armor --detach-sign --output Release.gpg Release
  gpg --batch --quiet --armor --export --output Release.key
)

# Fills the storage of a registry, where an image is below its name without the registry's: registry.k8s.io/pause:3.10 is pause:3.10.
repository_images() ( # repository_images DIR BUNDLE...
  local dir=$1 port archive name bundle
  shift
  port=$((20000 + RANDOM % 10000))
  printf 'version: 0.1\nstorage: { filesystem: { rootdirectory: "%s" } }\nhttp: { addr: "127.0.0.1:%s" }\n' "$dir/registry" "$port" >"$dir/work/registry.yml"
  docker-registry serve "$dir/work/registry.yml" >"$dir/work/registry.log" 2>&1 &
  # shellcheck disable=SC2064 # this one
  trap "kill $! 2>/dev/null" EXIT
  wait_until 30 "docker-registry to listen" bash -c "</dev/tcp/127.0.0.1/$port" 2>/dev/null
  for bundle in "$@"; do
    say "filling a registry with the images of $bundle"
    repository_dns "$dir/work" "$bundle"
    for archive in "$bundle"/images/*.tar "$dir"/work/images/*.tar; do
      [ -e "$archive" ] || continue
      name=$(tar -xOf "$archive" manifest.json | sed 's/.*"RepoTags":\["\([^"]*\)".*/\1/')
      skopeo --insecure-policy copy -q --dest-tls-verify=false "docker-archive:$archive" "docker://127.0.0.1:$port/${name#*/}" >&2 ||
        die "the image $name could not be put into the registry"
    done
  done
)

# Where the bundle has no CoreDNS: the stand-in, by the name that its kubeadm asks for.
repository_dns() { # repository_dns WORK BUNDLE
  local work=$1 bundle=$2 name
  rm -rf "$work/images"
  [ ! -e "$bundle/images/coredns.tar" ] || return 0
  name=$("$bundle/bin/kubeadm" config images list --kubernetes-version "v$(bundle_version "$bundle")" 2>/dev/null | grep coredns)
  mkdir -p "$work/images" "$work/dns"
  install -m 0755 "$(stand_in dns)" "$work/dns/coredns"
  bundle_image "$work" dns "$name" "$work/images/coredns.tar" '["/coredns"]'
}
