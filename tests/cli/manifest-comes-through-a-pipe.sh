#!/usr/bin/env bash
# A manifest that is read from a pipe is read once, by `train run`: not before it, to find out what was typed.
. "$(dirname "$0")/common"

cat >job.yaml <<'END'
apiVersion: batch/v1
kind: Job
metadata: { name: piped }
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{ name: main, image: a, command: [a] }]
END
mkfifo pipe
cat job.yaml >pipe &
exits 0 gpuadm train run -f pipe -o yaml --offline
says "piped"
wait

gpuadm train run -f /dev/stdin -o yaml --offline <job.yaml >out 2>err || fail "a manifest from standard input is refused: $(cat err)"
gpuadm train run -f /dev/stdin -o yaml --offline < <(cat job.yaml) >out 2>err || fail "a manifest from a pipe is refused: $(cat err)"
grep -q 'piped' out || fail "the job's name is not printed"

# A command whose mistake leads to a hint: neither does the hint read what the command has not.
sed "s/kind: Job/kind: Pod/" job.yaml >pipe &
exits 2 timeout 20 "$GPUADM" train run -f pipe -o yaml --offline
wait
