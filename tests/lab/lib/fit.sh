# shellcheck shell=bash
# Which Kubernetes the lab runs, and what fits it. $GPUADM_LAB_BUNDLE is the directory of a bundle in the layout of `lab bundle`
# out (manifest.yaml, bin/, images/NAME.tar); without it the lab builds its own.

bundle_version() { # bundle_version DIR
  local version
  version=$(sed -n 's/^kubernetes: "\{0,1\}\([0-9.]*\)"\{0,1\}$/\1/p' "$1/manifest.yaml" 2>/dev/null) || :
  [[ $version =~ ^1\.[0-9]+\.[0-9]+$ ]] || die "$1/manifest.yaml does not name a Kubernetes version (kubernetes: \"1.36.2\")"
  printf '%s\n' "$version"
}

# Prints the version of Kubernetes in the bundle that tests use.
lab_version() {
  if [ -n "${GPUADM_LAB_BUNDLE:-}" ]; then bundle_version "$GPUADM_LAB_BUNDLE"; else printf '%s\n' "$KUBE_SOURCE_VERSION"; fi
}

version_minor() { local rest=${1#*.} && printf '%s\n' "${rest%%.*}"; }

# bundle_next: a bundle of the next patch release, for upgrades.
bundle_next() {
  local version next dir
  version=$(lab_version)
  next=${version%.*}.$((${version##*.} + 1))
  if [ -z "${GPUADM_LAB_BUNDLE:-}" ]; then
    lab_bundle --version "$next"
    return
  fi
  dir=${GPUADM_LAB_BUNDLE_NEXT:-}
  if [ -z "$dir" ]; then
    for dir in "$(dirname "$(readlink -f "$GPUADM_LAB_BUNDLE")")"/*/; do
      [ ! -e "$dir/manifest.yaml" ] || [ "$(bundle_version "${dir%/}")" != "$next" ] || break
      dir=
    done
  fi
  [ -n "$dir" ] || die "no bundle of Kubernetes $next: name one in GPUADM_LAB_BUNDLE_NEXT, or put it beside $GPUADM_LAB_BUNDLE"
  [ "$(bundle_version "$dir")" != "$version" ] || die "GPUADM_LAB_BUNDLE_NEXT is of the same Kubernetes as GPUADM_LAB_BUNDLE, $version"
  readlink -f "$dir"
}

# fitting_image KIND: the image of that kind (bare, containerd, docker) that the Kubernetes of the lab runs on. containerd 1.7 is
# recommended up to Kubernetes 1.35, containerd 2 alone from 1.36 (https://github.com/containerd/containerd/blob/main/RELEASES.md).
fitting_image() {
  local debian=bookworm suffix=''
  if [ "$(version_minor "$(lab_version)")" -ge 36 ]; then
    debian=trixie
    case $1 in containerd) suffix=-2 ;; docker) suffix=-28 ;; esac
  fi
  printf '%s-%s%s\n' "$debian" "$1" "$suffix"
}

bundle_has_dns() { [ -n "${GPUADM_LAB_BUNDLE:-}" ] && [ -e "$GPUADM_LAB_BUNDLE/images/coredns.tar" ]; }

# needs_cgroup_v1_allowed: whether a kubelet refuses this machine's cgroups unless it is configured otherwise (1.35: failCgroupV1).
needs_cgroup_v1_allowed() {
  [ "$(version_minor "$(lab_version)")" -ge 35 ] && grep -q ' cgroup ' /proc/mounts
}

# The patches of a cluster file that hosts of the lab need. They share the machine's disk, on which the kubelet's default thresholds, 10 % and 15 %, may be
# more than is free.
lab_patches() {
  cat <<END
patches:
  kubeProxy: { conntrack: { maxPerCore: 0, min: 0 } }
  kubelet:
    imageGCHighThresholdPercent: 100
    evictionHard: { memory.available: 100Mi, nodefs.available: 1%, nodefs.inodesFree: 1%, imagefs.available: 1% }
END
  if needs_cgroup_v1_allowed; then printf '    failCgroupV1: false\n'; fi
}
