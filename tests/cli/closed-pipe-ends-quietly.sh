#!/usr/bin/env bash
# A reader that goes away is no error of ours.
. "$(dirname "$0")/common"

gpuadm config explain 2>err | head -n 1 >out
[ ! -s err ]
