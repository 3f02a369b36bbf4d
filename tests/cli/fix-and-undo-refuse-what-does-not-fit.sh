#!/usr/bin/env bash
# doctor --fix and undo say what they do not go with, before anything is connected to.
. "$(dirname "$0")/common"

nobody=nobody@127.0.0.1:1
mkdir kept
exits 2 gpuadm doctor --fix --from kept
complains "--fix cannot be combined with --from"
exits 2 gpuadm doctor --fix --demo gpu-fell-off-the-bus
complains "--demo"
exits 2 gpuadm doctor --fix --record new "$nobody"
exits 2 gpuadm doctor --fix --stage cluster "$nobody"
complains "--stage node"
exits 2 gpuadm doctor --fix -o html "$nobody"
exits 2 gpuadm doctor --fix --only host.cpu.conut "$nobody"
complains "host.cpu.count"
exits 2 gpuadm doctor -y "$nobody"
complains "--fix"
exits 2 gpuadm doctor --dry-run "$nobody"
exits 2 gpuadm undo --all --run x "$nobody"
exits 2 gpuadm undo -y --dry-run "$nobody"
exits 4 gpuadm undo -y "$nobody"
exits 4 gpuadm doctor --fix -y "$nobody"
exits 0 gpuadm explain kernel.sysctl.inotify
says "gpuadm doctor --fix"
