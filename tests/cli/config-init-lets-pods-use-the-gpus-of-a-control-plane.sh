#!/usr/bin/env bash
# gpuadm config init: the first of several hosts is the control plane. If it has GPUs, the file says that pods may run there.
. "$(dirname "$0")/common"

# two FIRST: a recording of two machines, the first with the GPUs of FIRST.
two() {
  rm -rf two cluster.yaml
  cp -r "$top/data/recordings/pair" two
  cp "$top/data/recordings/$1/hosts/host1/probe.txt" two/hosts/host1/probe.txt
}
two gpu-machine
exits 0 gpuadm config init --from two -o cluster.yaml
grep -q '^  schedulable: yes  *# .* has GPUs; no: pods cannot use them$' cluster.yaml || fail "the GPUs of the control plane are not mentioned"
exits 0 gpuadm config show cluster.yaml
says 'schedulable: "yes"'
two machine
exits 0 gpuadm config init --from two -o cluster.yaml
! grep -q schedulable cluster.yaml || fail "a control plane without GPUs is schedulable"
