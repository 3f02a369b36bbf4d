#!/usr/bin/env bash
# Undo of a file that configures the linker runs ldconfig, and no step records the linker's cache, which packages change, too. ldconfig is a
# double.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files="gpu fix undo"

mkdir -p bin
# shellcheck disable=SC2016 # ldconfig's own
printf '#!/bin/sh\n[ "$1" = -p ] || echo "ldconfig $*" >>%s/calls\n' "$place" >bin/ldconfig
chmod +x bin/ldconfig
# shellcheck disable=SC2016 # the step's own
files='file_put() { echo "put $1" >>calls; }
file_become() { echo "become $1 $2" >>calls; }
driver_folders() { echo /opt/nvidia/lib64; }
commented_out() { :; }
file_keeps() { :; }'
for step in 'gpu/driver-found.yaml gpu.driver.found' 'fix/gpu.yaml fix.gpu.linker'; do
  # shellcheck disable=SC2086 # a file, and a step
  exits 0 in_step "$files
$(script $step apply)"
done
exits 0 in_step "$files
kind=file name=/etc/ld.so.conf.d/gpuadm-nvidia.conf was=absent now= reader=; undo_apply"
[ "$(cat calls)" = 'put /etc/ld.so.conf.d/gpuadm-nvidia.conf
ldconfig 
ldconfig 
become /etc/ld.so.conf.d/gpuadm-nvidia.conf absent
ldconfig ' ] || fail "it was: $(cat calls)"
[ ! -e host/journal/log ] || fail "the journal is $(cat host/journal/log)"
