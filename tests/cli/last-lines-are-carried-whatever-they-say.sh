#!/usr/bin/env bash
# last_lines of playbooks/frame.sh ranks the lines of a log and drops none for want of a known word: the last words before the end of a
# program are among its output whatever they are, and the output is bounded.
. "$(dirname "$0")/common"

"$GPUADM" assets show playbooks/frame.sh >frame.sh
cat >program <<'END'
. ./frame.sh
last_lines "$1" "$2" <log
END
ends='kubelet.service: Main process exited, code=exited, status=1/FAILURE'
number=0
while read -r words; do
  number=$((number + 1))
  {
    for i in 1 2 3 4 5 6 7 8 9; do echo "I1129 10:00:0$i.1   11 server.go:$i] progress $i"; done
    echo "E1129 10:00:10.1   11 server.go:99] \"$words\""
    echo "$ends"
    echo 'Started kubelet.service.'
    for i in 1 2 3 4 5 6 7 8 9; do echo "I1129 10:01:0$i.1   12 server.go:$i] other progress $i"; done
  } >log
  exits 0 sh program 12 'unknown flag'
  says "$words"
  says "$ends"
done <<'END'
the quorum of gnomes is incomplete
vortex pump stalled at 17%
mauve alert: the ledger is upside down
subspace carrier lost
pendulum out of phase
too few marmots in the pool
no ferryman for the channel
the orrery runs backwards
sundial reports midnight
the hourglass was turned twice
END
[ "$number" = 10 ] || fail "only $number lines were tried"

# A thousand errors, one of which is known: the output has the known one and the last ones.
{
  for i in $(seq 500); do echo "E1129 10:00:00.1   11 a.go:1] trouble $i failed"; done
  echo 'E1129 10:00:00.1   11 a.go:1] unknown flag: --no-such'
  for i in $(seq 501 999); do echo "E1129 10:00:00.1   11 a.go:1] trouble $i failed"; done
} >log
exits 0 sh program 20 'unknown flag'
[ "$(wc -l <out)" = 20 ] || fail "$(wc -l <out) lines"
says 'unknown flag: --no-such'
says 'trouble 999 failed'

# Of repeated messages only the last is kept, and options of a usage text do not count as errors.
{
  for i in $(seq 30); do echo "E1129 10:00:$i.1   11 a.go:1] again"; done
  echo '  --error string   the error to invent'
  for i in $(seq 10); do echo "plain line $i"; done
} >log
exits 0 sh program 20 ''
[ "$(grep -c again out)" = 1 ] || fail "repeated lines: $(cat out)"
