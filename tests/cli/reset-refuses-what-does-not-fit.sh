#!/usr/bin/env bash
# reset says what it does not go with, before anything is connected to; an unreachable host is named.
. "$(dirname "$0")/common"

nobody=nobody@127.0.0.1:1
exits 2 gpuadm reset -y --dry-run "$nobody"
exits 2 gpuadm reset --keep-image "$nobody"
complains "--keep-images"
exits 4 gpuadm reset -y "$nobody"
exits 4 gpuadm reset --dry-run "$nobody"
exits 2 gpuadm init --driver instal "$nobody"
complains "--driver install=580"
exits 2 gpuadm init --driver use=580 "$nobody"
