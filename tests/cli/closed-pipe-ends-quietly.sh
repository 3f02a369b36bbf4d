#!/usr/bin/env bash
# A closed pipe is not an error.
. "$(dirname "$0")/common"

gpuadm config explain 2>err | head -n 1 >out
[ ! -s err ]
