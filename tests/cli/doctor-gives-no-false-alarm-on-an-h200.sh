#!/usr/bin/env bash
# What was recorded on machines with healthy NVIDIA H200s, one and four: every GPU check that says something says what is so there.
. "$(dirname "$0")/common"

for recording in h200 h200x4; do
  exits 0 gpuadm doctor --from "$top/tests/recordings/$recording" --stage node --fail-on never -o json
  jq -r '.findings[] | select(.id | startswith("gpu.")) | select(.result != "pass" and .result != "skip") | "\(.id) \(.result)"' out >open
  # The machines have no /dev/char, so its links to the GPUs' nodes are missing indeed.
  diff - open <<<'gpu.driver.dev-char-symlinks fail'
  jq -e '[.findings[] | select(.id == "gpu.driver.smi-runs" and .result == "pass")] | length == 1' out
done
exits 0 gpuadm doctor --from "$top/tests/recordings/h200" -v --fail-on never
says "NVIDIA H200"
