#!/usr/bin/env bash
# gpuadm gpu reset-config records the compute mode that it changes, and undo restores it; a mode that nvidia-smi does not report is unknown.
# nvidia-smi is a double that keeps a mode for each GPU in a file.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files=undo

mkdir -p bin
cat >bin/nvidia-smi <<END
#!/bin/sh
case \$* in
  *--query-gpu=compute_mode*) cat $place/mode.\$2 || { echo 'No devices were found'; exit 6; } ;;
  *'-c DEFAULT') echo Default >$place/mode.\$2 ;;
  *'-c EXCLUSIVE_PROCESS') echo Exclusive_Process >$place/mode.\$2 ;;
esac
END
chmod +x bin/nvidia-smi
slots='0000:06 0000:07'
step() { in_step "gpu_slots='$slots'; $(script gpu/reset-config.yaml gpu.reset-config "$1")"; }
undo() { in_step "kind=compute-mode name=$1 was=$2 now= reader=; undo_is_done || { undo_apply && undo_is_done; }"; }

echo Exclusive_Process >mode.0000:06
echo Default >mode.0000:07
exits 1 step check
exits 0 step apply
exits 0 step check
[ "$(cut -f 1-3 host/journal/log | tr '\t' ' ')" = 'compute-mode 0000:06 Exclusive_Process
compute-mode 0000:07 Default' ] || fail "the journal is $(cat host/journal/log)"
exits 0 undo 0000:06 Exclusive_Process
[ "$(cat mode.*)" = 'Exclusive_Process
Default' ] || fail "the modes are $(cat mode.*)"

rm mode.0000:07
exits 0 in_step 'thing_now compute-mode 0000:07'
[ "$(cat out)" = unknown ] || fail "the mode is $(cat out)"
exits 0 undo 0000:07 unknown
