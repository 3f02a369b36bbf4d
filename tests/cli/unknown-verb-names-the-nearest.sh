#!/usr/bin/env bash
# An unknown command: exit 2 and the nearest one.
. "$(dirname "$0")/common"

exits 2 gpuadm docter
complains "gpuadm: unknown command docter"
complains "did you mean doctor?"
exits 2 gpuadm config lnt
complains "did you mean lint?"
