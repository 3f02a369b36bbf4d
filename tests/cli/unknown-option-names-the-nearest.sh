#!/usr/bin/env bash
# An unknown option: exit 2 and the nearest one, also with a value.
. "$(dirname "$0")/common"

exits 2 gpuadm init --dryrun
complains "gpuadm: init: unknown option --dryrun"
complains "did you mean --dry-run?"
exits 2 gpuadm init --kubernets-version=1.30
complains "did you mean --kubernetes-version?"
