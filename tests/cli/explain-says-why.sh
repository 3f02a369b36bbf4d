#!/usr/bin/env bash
# A check's title and reason; a typo names the nearest.
. "$(dirname "$0")/common"

exits 0 gpuadm explain host.cpu.count
says "host.cpu.count"
[ "$(wc -l <out)" -ge 3 ]
exits 2 gpuadm explain host.cpu.conut
complains "host.cpu.count"
exits 0 gpuadm explain host.ssh.reachable
says "host.ssh.reachable"
