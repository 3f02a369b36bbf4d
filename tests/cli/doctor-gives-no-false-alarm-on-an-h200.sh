#!/usr/bin/env bash
# What was recorded on a machine with one healthy NVIDIA H200: every GPU check that says something says what is so there.
. "$(dirname "$0")/common"

exits 0 gpuadm doctor --from "$top/tests/recordings/h200" --stage node --fail-on never -o json
jq -r '.findings[] | select(.id | startswith("gpu.")) | select(.result != "pass" and .result != "skip") | "\(.id) \(.result)"' out >open
# The machine has no /dev/char, so its links to the GPU's nodes are missing indeed.
diff - open <<<'gpu.driver.dev-char-symlinks fail'
jq -e '[.findings[] | select(.id == "gpu.driver.smi-runs" and .result == "pass")] | length == 1' out
exits 0 gpuadm doctor --from "$top/tests/recordings/h200" -v --fail-on never
says "NVIDIA H200"
