#!/usr/bin/env bash
# The quickstarts show the Job that `gpuadm assets show templates/gpu-job.yaml` prints.
set -euo pipefail
cd "$(dirname "$0")/../.."
job=$(grep -v '^#' templates/gpu-job.yaml)
[ -n "$job" ]
for page in docs/quickstart/one-workstation.md docs/quickstart/one-workstation.zh-CN.md; do
  shown=$(sed -n '/^    apiVersion: batch\/v1$/,/^$/ s/^    //p' "$page")
  diff <(printf '%s\n' "$job") <(printf '%s\n' "$shown") || { echo "$page shows another Job than templates/gpu-job.yaml" >&2 && exit 1; }
done
