#!/usr/bin/env bash
# A shell's variable that is not set must not make this machine the target, or the next word a value.
. "$(dirname "$0")/common"

exits 2 gpuadm reset ""
complains "an argument is empty"
exits 2 gpuadm init --bundle= --dry-run
complains "the value of --bundle= is empty"
# What is for hosts is theirs, whatever it is.
exits 4 gpuadm exec nobody@127.0.0.1:1 -- echo ""
