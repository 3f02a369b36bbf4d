#!/usr/bin/env bash
# Without a target it is this machine; the result alone is on standard output.
. "$(dirname "$0")/common"

exits 0 gpuadm facts -o json
jq -e --arg kernel "$(uname -r)" '[.[].os.kernel] == [$kernel]' out
