#!/usr/bin/env bash
# Every value of a run is kept, 0700 and 0600.
. "$(dirname "$0")/common"

exits 0 gpuadm facts
cd "$HOME"/.local/state/gpuadm/*/*
[ "$(stat -c %a .)" = 700 ]
[ "$(stat -c '%a %n' -- *)" = "$(printf '600 %s\n' cluster.yaml facts.json)" ]
