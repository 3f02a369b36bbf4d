#!/usr/bin/env bash
# What was recorded on machines with healthy NVIDIA H200s, one and four: every GPU check that says something says what is so there.
. "$(dirname "$0")/common"

for recording in h200 h200x4; do
  exits 0 gpuadm doctor --from "$top/tests/recordings/$recording" --stage node --fail-on never -o json
  jq -r '.findings[] | select(.id | startswith("gpu.")) | select(.result != "pass" and .result != "skip") | "\(.id) \(.result)"' out >open
  # The machines have no /dev/char, so its links to the GPUs' nodes are missing indeed. The probe that recorded them left out the
  # section on NVLink where it named no link.
  expected='gpu.driver.dev-char-symlinks fail'
  [ "$recording" != h200 ] || expected+=$'\ngpu.health.nvlink-active unknown\ngpu.health.nvlink-errors unknown'
  diff - <(sort open) <<<"$expected"
  jq -e '[.findings[] | select(.id == "gpu.driver.smi-runs" and .result == "pass")] | length == 1' out
done
exits 0 gpuadm doctor --from "$top/tests/recordings/h200" -v --fail-on never
says "NVIDIA H200"
