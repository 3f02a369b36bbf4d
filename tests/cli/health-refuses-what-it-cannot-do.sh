#!/usr/bin/env bash
# gpuadm health names invalid options before it connects to a host, and does not run where it is not enabled.
. "$(dirname "$0")/common"

exits 2 gpuadm health enable root@192.0.2.1 --interval 5 -y
complains "--interval"
exits 2 gpuadm health enable root@192.0.2.1 --taint blocker --max-tainted 0 -y
complains "--max-tainted 0 taints no node"
exits 2 gpuadm health enable root@192.0.2.1 --skip gpu.helth -y
complains "unknown check: gpu.helth"
exits 2 gpuadm health run --node 'a;b'
[ "$(id -u)" != 0 ] || complains "invalid node name: a;b"
[ "$(id -u)" != 0 ] || [ -e /var/lib/gpuadm/health ] || {
  exits 3 gpuadm health run --node gpu1
  complains "run gpuadm health enable"
}
