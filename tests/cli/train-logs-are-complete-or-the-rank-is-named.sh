#!/usr/bin/env bash
# `train logs` prints all of a log that is larger than one answer. A rank whose log cannot be read is named with the reason, and the exit status
# is not 0. kubectl is a double.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/kubectl-double.sh
. "$top/tests/lib/kubectl-double.sh"

lines=120000
pod_of() { # RANK
  printf '{"kind":"Pod","metadata":{"name":"two-%s","namespace":"default","labels":{"gpuadm.io/kind":"train","gpuadm.io/name":"two","batch.kubernetes.io/job-completion-index":"%s"}},"spec":{"nodeName":"gpu1","containers":[{"name":"rank"}]},"status":{"phase":"Succeeded"}}' "$1" "$1"
}
cat >objects.json <<END
{"kind":"List","items":[
  {"kind":"Job","metadata":{"name":"two","namespace":"default","labels":{"gpuadm.io/kind":"train","gpuadm.io/name":"two"}},
   "spec":{"completions":2,"parallelism":2},"status":{"conditions":[{"type":"Complete","status":"True"}]}},
  $(pod_of 0), $(pod_of 1)]}
END
# Ten lines a second, from the second in SINCE on.
awk -v lines="$lines" 'BEGIN { for (i = 0; i < lines; i++) printf "2026-11-26T%02d:%02d:%02d.%09dZ this is line %d of the log of a rank that says much\n",
  int(i / 36000), int(i / 600) % 60, int(i / 10) % 60, i % 10, i }' >log
cat >bin/kubectl <<END
#!/bin/sh
since= most=999999999
for word in "\$@"; do
  case \$word in --since-time=*) since=\${word#*=} since=\${since%Z} ;; --limit-bytes=*) most=\${word#*=} ;; esac
done
case " \$* " in
  *' logs two-0 '*) awk -v since="\$since" 'since == "" || \$1 >= since' $place/log | head -c "\$most" ;;
  *' logs two-1 '*)
    [ ! -e $place/unread ] || { echo 'Error from server: Get "https://10.0.0.2:10250/containerLogs": no route to host' >&2 && exit 1; }
    echo '2026-11-26T00:00:00.000000001Z meets rank 0'
    ;;
  *' get '*) cat $place/objects.json ;;
  *) echo "kubectl: \$*" >&2 && exit 1 ;;
esac
END
chmod +x bin/kubectl

logs() { gpuadm --assets over train logs two "$@"; }
exits 0 logs
[ "$(wc -c <log)" -gt $((8 << 20)) ] || fail 'the log fits into two answers'
[ "$(grep -c '^\[0\] this is line' out)" = "$lines" ] || fail "$(grep -c '^\[0\]' out) lines of $lines"
[ "$(grep '^\[0\]' out | uniq -d | wc -l)" = 0 ] || fail 'a line is printed twice'
says '[1] meets rank 0'

touch unread
exits 1 logs
says "[0] this is line $((lines - 1)) of"
complains 'rank 1 of train/two: its log could not be read completely: Error from server: Get "https://10.0.0.2:10250/containerLogs": no route to host'
exits 1 logs --rank 1
exits 0 logs --rank 0
