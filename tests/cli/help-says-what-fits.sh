#!/usr/bin/env bash
# Every command's help: within 80 columns, with an example; gpuadm --help and completion are quick to write.
. "$(dirname "$0")/common"

exits 0 gpuadm --help
says 'Bundles and assets:'
says 'Exit codes: 0 success'
exits 0 gpuadm etcd --help
says 'restore'
mapfile -t commands < <(gpuadm manual | sed -n 's/^## \(gpuadm.*\)/\1/p')
[ ${#commands[@]} -gt 30 ]
for command in "${commands[@]}"; do
  read -ra words <<<"$command"
  exits 0 gpuadm "${words[@]:1}" --help
  says "Usage: $command"
  # Verbs of a group have the examples.
  grep -q '^Commands:' out || says 'Examples:'
  if grep -vE '^  (gpuadm|source) ' out | awk 'length > 80' | grep .; then fail "$command --help is wider than 80 columns"; fi
done
