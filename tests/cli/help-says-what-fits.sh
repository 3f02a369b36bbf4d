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

# A command with many options shows ten, and the others with "all".
for command in init apply join upgrade up; do
  exits 0 gpuadm "$command" --help
  says " more options: gpuadm $command --help all"
  [ "$(grep -cE '^  -' out)" -le 13 ] || fail "more than 13 options in $command --help"
  hides "--connect-timeout"
  cp out short
  exits 0 gpuadm "$command" --help all
  says "--connect-timeout"
  hides "more options:"
  [ "$(wc -l <out)" -gt "$(wc -l <short)" ] || fail "$command --help all is no longer"
  exits 0 gpuadm help "$command" all
  says "--connect-timeout"
done
exits 0 gpuadm init --help
[ "$(grep -cE '^  -' out)" = 10 ] || fail "init --help does not show ten options"
