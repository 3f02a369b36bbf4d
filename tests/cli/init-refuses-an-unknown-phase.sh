#!/usr/bin/env bash
# A phase that is none: exit 2 and the nearest.
. "$(dirname "$0")/common"

exits 2 gpuadm init --skip-phases runtime/confg --dry-run
complains "runtime/config"
