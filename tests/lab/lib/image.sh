# shellcheck shell=bash
# Root file systems, each made once by mmdebstrap. Hosts are overlays on them.

IMAGE_BASE=(systemd systemd-sysv dbus openssh-server sudo iproute2 iptables kmod procps ca-certificates)
IMAGE_NODE=(ethtool socat conntrack ebtables curl)

# Prints the suite and the packages of an image.
image_recipe() { # image_recipe NAME
  case $1 in
    bookworm-bare) echo bookworm "${IMAGE_BASE[@]}" ;;
    bookworm-containerd) echo bookworm "${IMAGE_BASE[@]}" "${IMAGE_NODE[@]}" containerd runc containernetworking-plugins ;;
    bookworm-docker) echo bookworm "${IMAGE_BASE[@]}" "${IMAGE_NODE[@]}" docker.io runc containernetworking-plugins ;;
    trixie-bare) echo trixie "${IMAGE_BASE[@]}" ;;
    trixie-containerd) echo trixie "${IMAGE_BASE[@]}" "${IMAGE_NODE[@]}" containerd runc containernetworking-plugins ;;
    trixie-containerd-2) echo trixie "${IMAGE_BASE[@]}" "${IMAGE_NODE[@]}" containernetworking-plugins containerd/sid runc/sid ;;
    trixie-docker) echo trixie "${IMAGE_BASE[@]}" "${IMAGE_NODE[@]}" docker.io docker-cli runc containernetworking-plugins ;;
    trixie-docker-28) echo trixie "${IMAGE_BASE[@]}" "${IMAGE_NODE[@]}" containernetworking-plugins docker.io/sid docker-cli/sid containerd/sid runc/sid ;;
    sid-containerd) echo sid "${IMAGE_BASE[@]}" "${IMAGE_NODE[@]}" containerd runc containernetworking-plugins ;;
    trixie-ceph) echo trixie "${IMAGE_BASE[@]}" ceph-mon ceph-mgr ceph-osd ceph-mds ceph-common ;;
    ceph-fuse-*) recipe=$(image_recipe "${1#ceph-fuse-}") && echo "$recipe ceph-fuse" ;;
    *) return 1 ;;
  esac
}

# image_sources SUITE PACKAGES: where apt looks; a package "NAME/sid" comes from there, whatever else is of the suite.
image_sources() {
  printf 'deb %s %s main\n' "$LAB_MIRROR" "$1"
  case $2 in */sid*) printf 'deb %s sid main\n' "$LAB_MIRROR" ;; esac
}

# A mirror of sid may lag behind the days that its release file is valid for.
lab_image() ( # lab_image NAME
  local name=${1:-} recipe suite packages dir id
  recipe=$(image_recipe "$name") || die "no such image: '$name'"
  suite=${recipe%% *} packages=${recipe#* }
  id=$({ printf '%s\n' "$recipe"; cat "$LAB_HOME/image/prepare" "$LAB_HOME/image/lab-init"; } | sha256sum | cut -c1-12)
  dir=$LAB_CACHE/images/$name-$id
  hold_lock "$LAB_CACHE/images/$name.lock" 600 "another build of the image $name"
  if [ ! -e "$dir.complete" ]; then
    say "building the image $name"
    rm -rf "$dir" "$dir.new"
    if ! mmdebstrap --mode=root --variant=minbase --include="${packages// /,}" \
      --aptopt="APT::Default-Release \"$suite\"" --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt=path-exclude='/usr/share/man/*' \
      --dpkgopt=path-exclude='/usr/share/locale/*' --dpkgopt=path-exclude='/usr/share/info/*' \
      --customize-hook="$LAB_HOME/image/prepare \"\$1\"" \
      "$suite" "$dir.new" - < <(image_sources "$suite" "$packages") >"$LAB_CACHE/images/$name.log" 2>&1; then
      tail -n 20 "$LAB_CACHE/images/$name.log" >&2
      rm -rf "$dir.new"
      die "the image $name could not be built; all of its log: $LAB_CACHE/images/$name.log"
    fi
    mv "$dir.new" "$dir"
    touch "$dir.complete"
    prune "$LAB_CACHE/images" "$name-*"
  fi
  touch "$dir"
  printf '%s\n' "$dir"
)
