#!/usr/bin/env bash
# No color without a terminal.
. "$(dirname "$0")/common"

gpuadm doctor >out 2>err || true
[ -s out ]
hides $'\033'
