#!/usr/bin/env bash
# No colour where there is no terminal.
. "$(dirname "$0")/common"

gpuadm doctor >out 2>err || true
[ -s out ]
hides $'\033'
