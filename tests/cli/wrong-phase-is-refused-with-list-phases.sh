#!/usr/bin/env bash
# --list-phases takes no phase that there is not.
. "$(dirname "$0")/common"

exits 2 gpuadm init --list-phases --skip-phases nothing
complains "nothing"
