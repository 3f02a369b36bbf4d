#!/usr/bin/env bash
# --log-format before or behind a verb; what it is not is refused.
. "$(dirname "$0")/common"

exits 0 gpuadm --log-format json version
exits 0 gpuadm version --log-format json
exits 2 gpuadm version --log-format xml
# Words after `--` belong to the command, even if exec is not the first word.
exits 0 gpuadm --log-format json exec -- echo --file 'two  words'
says "--file two  words"
