# shellcheck shell=bash
# An image with PyTorch, Open MPI, mpi4py and sshd, and the data set Fashion-MNIST.

TRAINING_PACKAGES=python3-torch,python3-numpy,openmpi-bin,python3-mpi4py,openssh-server,openssh-client,dataset-fashion-mnist

# Installed and not only unpacked: NumPy's BLAS and mpirun are alternatives.
training_packages() {
  # shellcheck disable=SC2016 # of mmdebstrap's shell
  debian_packages "$1" "$TRAINING_PACKAGES" --variant=essential --dpkgopt=path-exclude='/usr/include/*' \
    --customize-hook='chroot "$1" useradd --create-home --uid 1000 trainer'
}

training_prepare() { rm -f "$1"/etc/ssh/ssh_host_*; }
