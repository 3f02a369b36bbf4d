#!/usr/bin/env bash
# A driver that hangs is reported after the deadline. The driver here is a double whose every call hangs: a GPU
# that is wedged cannot be had.
. "$(dirname "$0")/common"

proof=${GPUADM%/*}/proof/gpuadm-proof
grep -oE 'FIND\(cu[A-Za-z0-9_]+\)' "$top/proof/cuda.cpp" | sed -E 's/FIND\((.*)\)/void \1(void) { for (;;) pause(); }/' >calls
{ echo '#include <unistd.h>' && cat calls; } >double.c
gcc -shared -fPIC -o libcuda.so.1 double.c
begun=$SECONDS
exits 1 env LD_LIBRARY_PATH="$PWD" timeout 30 "$proof" --deadline 1
complains "gpuadm-proof: the driver: no answer within 1 s"
[ $((SECONDS - begun)) -lt 20 ] || fail "it took $((SECONDS - begun)) s"

# --again continues, each round in a new process; the last one is reported.
exits 0 env LD_LIBRARY_PATH="$PWD" timeout 30 "$proof" --again 2 --deadline 1
says '{"exit":1}'
exits 0 timeout 30 "$proof" --hold 1
