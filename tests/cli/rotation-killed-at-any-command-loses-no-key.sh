#!/usr/bin/env bash
# gpuadm certs rotate-encryption-key on the first control plane, killed with its programs (kill -9) at every second command that the steps start, in turn:
# the configuration is always a whole one that has the key of the Secrets in etcd, and the next run completes.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files='static-pods etcd hardening'
needs setsid

file=$place/etc/encryption.yaml mark=$place/tmp/key
mkdir -p bin etc
chmod 0755 "$place"
for program in mktemp tee chmod mv sed head base64 date grep cat mkdir rm; do
  real=$(PATH=/usr/bin:/bin command -v "$program")
  # shellcheck disable=SC2016 # of the programs
  printf '#!/bin/sh\necho >>%s/calls\nread -r at <%s/at\n[ "$(/usr/bin/wc -l <%s/calls)" -lt "$at" ] || kill -9 0\nexec %s "$@"\n' \
    "$place" "$place" "$place" "$real" >"bin/$program"
done
chmod +x bin/*
step() { # step ID: its check, and what it applies if that fails, in a process group of its own
  local check apply
  check=$(script "security/encryption-$1.yaml" "encryption.${2:-$1}" check)
  apply=$(script "security/encryption-$1.yaml" "encryption.${2:-$1}" apply)
  in_step "encryption_file=$file encryption_rotates=$mark
(set -eu
$check
) >/dev/null || (set -eu
$apply
)"
}
in_group() { setsid --wait "$BASH" -c 'exec sh step.sh'; }
rotates() { # rotates: the steps of the first control plane; stops where one is killed
  local one
  for one in "new new" "first first" "written drop" "done done"; do
    # shellcheck disable=SC2086 # two words
    step $one >step.out 2>&1 || return 1
  done
}
eval "$(declare -f in_step | sed 's/^in_step/write_step/; s/sh step.sh$/:/')"
in_step() { write_step "$1" && in_group; }
names() { sed -n 's/.*{ name: "\([^"]*\)".*/\1/p' "$file"; }
is_whole() { [ "$(head -n 1 "$file" | cut -c1-19)" = '# Written by gpuadm' ] && [ "$(tail -n 1 "$file")" = '      - identity: {}' ]; }

kills_at() { : >calls && echo "$1" >"$place/at"; }
never=1000000
killed=0
kills_at "$never"
in_step "encryption_file=$file encryption_rotates=$mark
encryption_make" || fail "no configuration was made"
cp "$file" made.yaml
old=$(names)
for at in $(seq 1 2 200); do
  rm -rf host etc tmp && mkdir etc tmp && cp made.yaml "$file"
  kills_at "$at"
  if rotates; then
    break
  else
    killed=$((killed + 1))
    is_whole || fail "killed at command $at, the configuration is cut: $(cat "$file")"
    [ ! -s "$mark" ] || names | grep -qxF "$(cat "$mark")" || fail "killed at command $at, the mark names no key: $(cat "$mark")"
    [ "$(names | wc -l)" = 1 ] || names | grep -qxF "$old" || fail "killed at command $at, the old key is lost before the Secrets are written again"
  fi
  kills_at "$never"
  rotates || fail "after a kill at command $at, the rotation does not complete: $(cat step.out)"
  { [ "$(names | wc -l)" = 1 ] && [ ! -e "$mark" ]; } || fail "after a kill at command $at, the rotation is not complete: $(names)"
done
[ "$killed" -ge 15 ] || fail "only $killed kills"
