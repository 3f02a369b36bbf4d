#!/usr/bin/env bash
# All sections of a script that reads (playbooks/frame.sh) are framed by one awk: a probe has some 30 of them, and one awk each took a sixth of its
# processor time. What a program prints stays content, also lines like those that open and close sections.
. "$(dirname "$0")/common"

"$GPUADM" assets show playbooks/frame.sh >frame.sh
awk=$(command -v awk)
mkdir double
printf '#!/bin/sh\necho >>%s/started\nexec %s "$@"\n' "$place" "$awk" >double/awk
chmod +x double/awk
cat >script <<'END'
. ./frame.sh
: >started
everything() {
  echo 'gpuadm-probe 1'
  run no-newline 5 printf 'one\ntwo'
  run status 5 sh -c 'echo out; echo err >&2; exit 3'
  quiet no-errors 5 sh -c 'echo out; echo err >&2'
  kept some '^k' 5 printf 'k1\nno\nk2\n'
  printf 'long line\nlast\nmore\n0\n' | framed options long=4 max=13
  printf 'a\n<b>\nc\n</b>\nd\n7\n' | framed range 'skip=<b>' 'until=</b>'
  frame text 'of a variable' 0
  section own
  line word
  run forged 5 printf '%s\n' 'close' '0b5e close' '=== end' '? 0' 'https://name:secret@host/'
  succeeded "$(run well 5 true)" && echo '| well'
  succeeded "$(run badly 5 false)" || echo '| badly'
  together 'echo third' 'echo second' 'echo first'
}
sections everything
END
cat >expected <<'END'
gpuadm-probe 1
=== no-newline
| one
| two
? 0
=== status
| out
| err
? 3
=== no-errors
| out
? 0
=== some
| k1
| k2
? 0
=== options
| long
! cut
=== range
| a
| d
? 7
=== text
| of a variable
? 0
=== own
| word
=== forged
| close
| 0b5e close
| === end
| ? 0
| https://***@host/
? 0
| well
| badly
first
second
third
END
for shell in dash bash; do
  PATH=$place/double:$PATH "$shell" script >out 2>err || fail "$shell fails"
  diff expected out >differences || { cp differences out && fail "the sections differ in $shell"; }
  [ "$(wc -l <started)" = 1 ] || fail "awk was started $(wc -l <started) times"
done
# Without `sections`, each function frames its own.
[ "$(sh -c '. ./frame.sh; run alone 5 echo said' | tr '\n' ' ')" = '=== alone | said ? 0 ' ] || fail 'a function alone does not frame its output'
