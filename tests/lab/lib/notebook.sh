# shellcheck shell=bash
# An image with Jupyter, from Debian's packages.

NOTEBOOK_PACKAGES=python3-notebook,python3-ipykernel,coreutils,dash,findutils,grep,sed

# Prints the path of its docker-archive, lab.local/notebook:1, built where it is missing.
lab_notebook() (
  local id dir out folder
  set -e # also within $(…)
  id=$(sha256sum "$LAB_HOME/lib/notebook.sh" | cut -c1-12)
  dir=$LAB_CACHE/notebook out=$LAB_CACHE/notebook/notebook-$id.tar
  hold_lock "$LAB_CACHE/notebook/lock" 1800 "another build of the notebook image"
  if [ ! -e "$out" ]; then
    lab_deps
    say "building the notebook image"
    rm -rf "$dir/work" "$dir"/notebook-*.tar
    mkdir -p "$dir/work"
    mmdebstrap --mode=root --variant=extract --include="$NOTEBOOK_PACKAGES" --aptopt='APT::Install-Recommends "false"' \
      --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt=path-exclude='/usr/share/man/*' --dpkgopt=path-exclude='/usr/share/locale/*' \
      --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/share/fonts/*' --dpkgopt=path-exclude='/usr/share/icons/*' \
      trixie "$dir/work/root" "$LAB_MIRROR" >"$dir/log" 2>&1 || {
      tail -n 20 "$dir/log" >&2
      die "the packages of the notebook image could not be unpacked"
    }
    # Packages are unpacked and not installed: what their scripts would make is made here.
    for folder in bin sbin lib lib64; do [ -e "$dir/work/root/$folder" ] || ln -s "usr/$folder" "$dir/work/root/$folder"; done
    rm -rf "$dir/work/root"/{dev,proc,sys,boot,var/cache,var/lib/apt}
    mkdir -p "$dir/work/root"/{dev,proc,sys,root,tmp,etc,home/jovyan/work}
    chmod 1777 "$dir/work/root/tmp"
    echo 'root:x:0:0:root:/root:/bin/sh' >"$dir/work/root/etc/passwd"
    echo 'root:x:0:' >"$dir/work/root/etc/group"
    [ -e "$dir/work/root/usr/bin/sh" ] || ln -s dash "$dir/work/root/usr/bin/sh"
    bundle_image "$dir/work" root lab.local/notebook:1 "$out.new" '["/usr/bin/env","HOME=/root","LC_ALL=C.UTF-8"]'
    rm -rf "$dir/work"
    mv "$out.new" "$out"
  fi
  printf '%s\n' "$out"
)
