#!/usr/bin/env bash
# The connection drops in every phase in turn: the run fails and reports the host; the next run continues.
. "$(dirname "$0")/common"

a_host node
reached=0
failed=0
for phase in $(phases); do
  init_begins
  if in_phase "$phase" "$running"; then
    reached=$((reached + 1))
    lab cut node
  fi
  # A phase may be over before the cut; then the run must really have ended well.
  if wait "$running"; then
    exits 0 init -y
    says "0 changed"
  else
    failed=$((failed + 1))
    grep -qE '(failed on|gpuadm:) node: |(^| )node: the connection' out err || fail "the host is not named"
  fi
done
[ "$reached" -ge 8 ] || fail "only $reached phases were reached"
[ "$failed" -ge 6 ] || fail "only $failed runs noticed that their connection was cut"
exits 0 init -y
has_a_cluster node
