#!/usr/bin/env bash
# An unknown phase: exit 2 and the nearest one.
. "$(dirname "$0")/common"

exits 2 gpuadm init --skip-phases runtime/confg --dry-run
complains "runtime/config"
