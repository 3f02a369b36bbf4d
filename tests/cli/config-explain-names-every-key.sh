#!/usr/bin/env bash
# Keys with type, default and meaning.
. "$(dirname "$0")/common"

exits 0 gpuadm config explain
says "network.podCIDR"
exits 0 gpuadm config explain -o json
jq -e 'length > 20 and all(.[]; .message != "")' out
