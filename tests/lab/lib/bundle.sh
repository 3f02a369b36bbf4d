# shellcheck shell=bash
# A bundle: the binaries and images of one Kubernetes version with a manifest, for hosts that reach no registry.

ETCD_TAG=3.4.13-0  # what kubeadm 1.20 asks for; the program in it is Debian's etcd 3.4
PAUSE_TAG=3.2

lab_bundle() ( # lab_bundle [DIR] [--version VERSION | --next]
  local version='' copy='' dir
  set -e # also within $(…)
  while [ $# -gt 0 ]; do
    case $1 in
      --version)
        [ $# -gt 1 ] || die "bundle: --version needs a value"
        version=$2
        shift
        ;;
      --next) version=next ;;
      -*) die "bundle: no such option: $1" ;;
      *) copy=$1 ;;
    esac
    shift
  done
  case $version in
    next) dir=$(bundle_next) ;;
    '')
      [ -z "${GPUADM_LAB_BUNDLE:-}" ] || bundle_version "$GPUADM_LAB_BUNDLE" >/dev/null
      dir=${GPUADM_LAB_BUNDLE:-$(bundle_built "$KUBE_SOURCE_VERSION")}
      ;;
    *) dir=$(bundle_built "$version") ;;
  esac
  if [ -n "$copy" ]; then
    mkdir -p "$copy"
    cp -r "$dir/." "$copy/"
    dir=$copy
  fi
  readlink -f "$dir"
)

# bundle_built VERSION: the lab's own bundle of that version, built where it is missing.
bundle_built() ( # bundle_built VERSION
  local version=$1 dir id
  set -e # also within $(…)
  [[ $version =~ ^1\.20\.[0-9]+$ ]] || die "bundle: the lab builds Kubernetes 1.20 alone; for '$version' name a folder in GPUADM_LAB_BUNDLE"
  id=$(cat "$LAB_HOME/lib/bundle.sh" "$LAB_HOME/lib/kubernetes.sh" "$LAB_HOME/bundle/sleep.c" | sha256sum | cut -c1-12)
  dir=$LAB_CACHE/bundles/kubernetes-$version-$id
  hold_lock "$LAB_CACHE/bundles/lock" 1800 "another build of a bundle"
  if [ ! -e "$dir/manifest.yaml" ]; then
    lab_deps
    bundle_build "$version" "$dir"
    prune "$LAB_CACHE/bundles" 'kubernetes-*'
  fi
  touch "$dir"
  printf '%s\n' "$dir"
)

bundle_build() { # bundle_build VERSION DIR
  local version=$1 dir=$2 new=$2.new work=$2.work binaries program
  binaries=$(kubernetes_binaries "$version")
  rm -rf "$dir" "$new" "$work"
  mkdir -p "$new/bin" "$new/images" "$work"
  say "putting the bundle of Kubernetes $version together"
  for program in kubeadm kubelet kubectl; do install -m 0755 "$binaries/$program" "$new/bin/$program"; done

  for program in kube-apiserver kube-controller-manager kube-scheduler; do
    install -D -m 0755 "$binaries/$program" "$work/$program/usr/local/bin/$program"
    bundle_image "$work" "$program" "k8s.gcr.io/$program:v$version" "$new/images/$program.tar" "[\"/usr/local/bin/$program\"]"
  done

  bundle_extract "$work/kube-proxy" iptables,conntrack,libxtables12
  install -D -m 0755 "$binaries/kube-proxy" "$work/kube-proxy/usr/local/bin/kube-proxy"
  for program in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
    ln -s xtables-nft-multi "$work/kube-proxy/usr/sbin/$program"
  done
  mkdir -p "$work/kube-proxy/run" "$work/kube-proxy/tmp"
  bundle_image "$work" kube-proxy "k8s.gcr.io/kube-proxy:v$version" "$new/images/kube-proxy.tar" '["/usr/local/bin/kube-proxy"]'

  bundle_extract "$work/etcd" etcd-server,etcd-client,libc6
  # Where etcd's own image has it.
  install -D -m 0755 "$work/etcd/usr/bin/etcdctl" "$work/etcd/usr/local/bin/etcdctl"
  rm "$work/etcd/usr/bin/etcdctl"
  bundle_image "$work" etcd "k8s.gcr.io/etcd:$ETCD_TAG" "$new/images/etcd.tar" '["/usr/bin/etcd"]'

  mkdir -p "$work/pause" "$work/sleep"
  gcc -Os -static -s -DVERSION="v$PAUSE_TAG" -o "$work/pause/pause" "$KUBE_TREE/build/pause/linux/pause.c"
  bundle_image "$work" pause "k8s.gcr.io/pause:$PAUSE_TAG" "$new/images/pause.tar" '["/pause"]'
  gcc -Os -static -s -o "$work/sleep/sleep" "$LAB_HOME/bundle/sleep.c"
  bundle_image "$work" sleep lab.local/sleep:1 "$new/images/sleep.tar" '["/sleep"]'

  bundle_manifest "$version" "$new" >"$new/manifest.yaml.new"
  mv "$new/manifest.yaml.new" "$new/manifest.yaml"
  mv "$new" "$dir"
  rm -rf "$work"
}

# The files of Debian packages with what they depend on, without what an image does not need.
bundle_extract() { # bundle_extract DIR PACKAGES
  mmdebstrap --mode=root --variant=extract --include="$2" --dpkgopt=path-exclude='/usr/share/*' \
    --dpkgopt=path-exclude='/usr/lib/x86_64-linux-gnu/gconv/*' --dpkgopt=path-exclude='/usr/lib/x86_64-linux-gnu/perl*/*' \
    bookworm "$1" "$LAB_MIRROR" >"$1.log" 2>&1 || {
    tail -n 20 "$1.log" >&2
    die "the packages $2 could not be unpacked"
  }
  rm -rf "${1:?}"/{dev,proc,sys,usr/share,usr/lib/systemd,var,etc/apt,etc/init.d,etc/default,boot,home,media,mnt,srv,opt}
}

# One layer and its configuration as a docker-archive, which both containerd and Docker import. The same input
# gives the same bytes.
bundle_image() { # bundle_image WORK ROOT NAME TAR ENTRYPOINT
  local work=$1 root=$1/$2 name=$3 tar=$4 entrypoint=$5 out=$1/$2.archive diff config
  local fixed=(--sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=gnu)
  mkdir -p "$out"
  tar "${fixed[@]}" -C "$root" -cf "$out/layer" .
  diff=$(sha256sum <"$out/layer" | cut -d' ' -f1)
  gzip -n -6 <"$out/layer" >"$out/layer.tar"
  rm "$out/layer"
  config='{"architecture":"amd64","os":"linux","created":"1970-01-01T00:00:00Z","config":{"Env":["PATH=/usr/local/sbin:'
  config+='/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],"Entrypoint":'$entrypoint'},"rootfs":{"type":"layers",'
  config+='"diff_ids":["sha256:'$diff'"]},"history":[{"created":"1970-01-01T00:00:00Z","created_by":"tests/lab"}]}'
  printf '%s' "$config" >"$out/config.json"
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$name" >"$out/manifest.json"
  tar "${fixed[@]}" -C "$out" -cf "$tar" manifest.json config.json layer.tar
  rm -rf "$out"
}

bundle_manifest() { # bundle_manifest VERSION DIR
  local version=$1 dir=$2 program file name
  cat <<E
apiVersion: gpuadm/v1alpha1
kind: Bundle
name: kubernetes-$version
kubernetes: "$version"
architecture: amd64
E
  [ -e "$dir/images/coredns.tar" ] || printf 'absent: [coredns]\n'
  printf 'files:\n'
  for file in "$dir"/bin/*; do
    program=${file##*/}
    printf '  - { path: bin/%s, kind: binary, target: /usr/bin/%s, mode: "0755", sha256: %s }\n' \
      "$program" "$program" "$(sha256sum <"$dir/bin/$program" | cut -d' ' -f1)"
  done
  for file in "$dir"/images/*.tar; do
    name=$(tar -xOf "$file" manifest.json | sed 's/.*"RepoTags":\["\([^"]*\)".*/\1/')
    printf '  - { path: images/%s, kind: image, name: "%s", sha256: %s }\n' \
      "$(basename "$file")" "$name" "$(sha256sum <"$file" | cut -d' ' -f1)"
  done
}
