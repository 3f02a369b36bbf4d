#!/usr/bin/env bash
# The image of the program that computes on GPUs travels in gpuadm, byte for byte.
. "$(dirname "$0")/common"

exits 0 gpuadm assets show proof/image.tar
cmp out "${GPUADM%/*}/proof/image.tar"
exits 0 gpuadm assets list
says "proof/image.tar"
