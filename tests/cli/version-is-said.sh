#!/usr/bin/env bash
# gpuadm version, as text and as JSON.
. "$(dirname "$0")/common"

exits 0 gpuadm version
grep -qE '^gpuadm [0-9]+\.[0-9]+\.[0-9]+$' out
exits 0 gpuadm version -o json
jq -e .gpuadm out
