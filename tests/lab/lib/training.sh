# shellcheck shell=bash
# An image with PyTorch, Open MPI, mpi4py and sshd, and the data set Fashion-MNIST, from Debian's packages.

TRAINING_PACKAGES=python3-torch,python3-numpy,openmpi-bin,python3-mpi4py,openssh-server,openssh-client,dataset-fashion-mnist

# Prints the path of its docker-archive, lab.local/training:1, built where it is missing.
lab_training() (
  local id dir out
  set -e # also within $(…)
  id=$(sha256sum "$LAB_HOME/lib/training.sh" | cut -c1-12)
  dir=$LAB_CACHE/training out=$LAB_CACHE/training/training-$id.tar
  hold_lock "$LAB_CACHE/training/lock" 1800 "another build of the training image"
  if [ ! -e "$out" ]; then
    lab_deps
    say "building the training image"
    rm -rf "$dir/work" "$dir"/training-*.tar
    mkdir -p "$dir/work"
    # Installed and not only unpacked: NumPy's BLAS and mpirun are alternatives.
    # shellcheck disable=SC2016 # of mmdebstrap's shell
    mmdebstrap --mode=root --variant=essential --include="$TRAINING_PACKAGES" --aptopt='APT::Install-Recommends "false"' \
      --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt=path-exclude='/usr/share/man/*' --dpkgopt=path-exclude='/usr/share/locale/*' \
      --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/include/*' --dpkgopt=path-exclude='/usr/share/fonts/*' \
      --dpkgopt=path-exclude='/usr/share/icons/*' --customize-hook='chroot "$1" useradd --create-home --uid 1000 trainer' \
      trixie "$dir/work/root" "$LAB_MIRROR" >"$dir/log" 2>&1 || {
      tail -n 20 "$dir/log" >&2
      die "the packages of the training image could not be installed"
    }
    rm -rf "$dir/work/root"/{dev,proc,sys,boot,var/cache,var/lib/apt} "$dir/work/root"/etc/ssh/ssh_host_*
    mkdir -p "$dir/work/root"/{dev,proc,sys}
    bundle_image "$dir/work" root lab.local/training:1 "$out.new" '["/usr/bin/env","HOME=/root","LC_ALL=C.UTF-8"]'
    rm -rf "$dir/work"
    mv "$out.new" "$out"
  fi
  printf '%s\n' "$out"
)
