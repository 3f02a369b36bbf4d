# shellcheck shell=sh disable=SC2154
# Prints the images that the kubeadm $program needs for Kubernetes $version from $repository. Runs on the machine that runs gpuadm.
cd / && exec env -i PATH=/usr/bin:/bin "$program" config images list --kubernetes-version "$version" ${repository:+--image-repository "$repository"}
