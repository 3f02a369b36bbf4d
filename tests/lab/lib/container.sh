# shellcheck shell=bash
# Container images of Debian's packages, for pods. lib/NAME.sh has NAME_packages ROOT, which unpacks or installs them there, and NAME_prepare
# ROOT, which does the rest.

# debian_packages ROOT PACKAGES OPTION...: with mmdebstrap, without documentation.
debian_packages() {
  local root=$1 packages=$2
  shift 2
  mmdebstrap --mode=root --include="$packages" --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt=path-exclude='/usr/share/man/*' --dpkgopt=path-exclude='/usr/share/locale/*' --dpkgopt=path-exclude='/usr/share/doc/*' \
    --dpkgopt=path-exclude='/usr/share/fonts/*' --dpkgopt=path-exclude='/usr/share/icons/*' "$@" trixie "$root" "$LAB_MIRROR"
}

# Prints the path of the docker-archive of lab.local/NAME:1, built where it is missing.
lab_container() ( # lab_container NAME
  local name=$1 id dir out
  set -e # also within $(…)
  id=$(cat "$LAB_HOME/lib/container.sh" "$LAB_HOME/lib/$name.sh" | sha256sum | cut -c1-12)
  dir=$LAB_CACHE/$name out=$LAB_CACHE/$name/$name-$id.tar
  hold_lock "$dir/lock" 1800 "another build of the $name image"
  if [ ! -e "$out" ]; then
    lab_deps
    say "building the $name image"
    rm -rf "$dir/work" "$dir/$name"-*.tar
    mkdir -p "$dir/work"
    "${name}_packages" "$dir/work/root" >"$dir/log" 2>&1 || {
      tail -n 20 "$dir/log" >&2
      die "the packages of the $name image could not be installed"
    }
    rm -rf "$dir/work/root"/{dev,proc,sys,boot,var/cache,var/lib/apt}
    mkdir -p "$dir/work/root"/{dev,proc,sys}
    "${name}_prepare" "$dir/work/root"
    bundle_image "$dir/work" root "lab.local/$name:1" "$out.new" '["/usr/bin/env","HOME=/root","LC_ALL=C.UTF-8"]'
    rm -rf "$dir/work"
    mv "$out.new" "$out"
  fi
  printf '%s\n' "$out"
)
