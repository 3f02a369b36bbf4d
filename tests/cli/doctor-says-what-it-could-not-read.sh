#!/usr/bin/env bash
# Where nvidia-smi's details could not be read, no check of the GPUs' health passes; headline and exit code say so.
. "$(dirname "$0")/common"

cp -r "$top/data/recordings/gpu-node" read
# sec.advisories: whether the distribution's runc has all fixes is unknown.
exits 0 gpuadm doctor --from read --stage node --fail-on warning,unknown --skip gpu.health.nvlink-active,gpu.health.nvlink-errors,sec.advisories
for damage in missing cut late garbage; do
  cp -r read "$damage"
  probe=$damage/hosts/host1/probe.txt
  case $damage in
    missing) sed -i '/^=== nvidia-smi-xml$/,/^? /d' "$probe" ;;
    cut) sed -i '/^=== nvidia-smi-xml$/,/^? /{s/^? .*/! cut/;/<remapped_rows>/,/<.gpu>/d}' "$probe" ;;
    late) sed -i '/^=== nvidia-smi-xml$/,/^? /s/^? .*/? 124/' "$probe" ;;
    garbage) sed -i '/^=== nvidia-smi-xml$/,/^? /{s/^| .*/| garbage/}' "$probe" ;;
  esac
  exits 3 gpuadm doctor --from "$damage" --stage node --fail-on unknown
  head -n 1 out | grep -q '^No problem was found; [0-9]* checks are unknown$' || fail "the first line: $damage"
  says 'nvidia-smi-xml could not be read: '
  exits 0 gpuadm doctor --from "$damage" --stage node --fail-on blocker
  exits 3 gpuadm doctor --from "$damage" --stage node --fail-on never,unknown -o json
  jq -e '[.findings[] | select(.id | test("^gpu.health.(ecc|row-remap)")) | .result] | length == 7 and all(. == "unknown")' out
done
