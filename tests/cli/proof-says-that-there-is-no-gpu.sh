#!/usr/bin/env bash
# The program that computes on GPUs starts where there is neither CUDA nor a GPU, and says so with exit status 2.
. "$(dirname "$0")/common"

proof=${GPUADM%/*}/proof/gpuadm-proof
exits 2 env CUDA_VISIBLE_DEVICES= "$proof"
complains "gpuadm-proof: "
exits 2 "$proof" --slow
complains "usage: gpuadm-proof"
