#!/usr/bin/env bash
# gpuadm certs rotate-encryption-key: a marker of the new key that is empty, as after a power failure, or that names another key, does not lead
# to a configuration without the keys that the Secrets in etcd need.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files='static-pods etcd hardening'

step() { in_step "encryption_file=$place/encryption.yaml encryption_rotates=$place/tmp/key
$1"; }
check() { # check NAME: the check of that step
  step "$("$GPUADM" assets show "playbooks/security/encryption-$1.yaml" | sed -n '/check:/,/apply:/s/^      //p' | head -n 1)"
}
names() { sed -n 's/.*{ name: "\([^"]*\)".*/\1/p' encryption.yaml; }

exits 0 step 'date() { echo 20260101T000000Z; }
encryption_make'
old=$(names)
exits 1 check new
exits 1 step 'encryption_new_is_first || exit 1'
exits 0 step encryption_add
new=$(cat tmp/key)
[ "$(names)" = "$old
$new" ] || fail "the keys are $(names)"
[ "$(stat -c %a tmp/key)" = 600 ] || fail "the marker has mode $(stat -c %a tmp/key)"
exits 0 check new
cp encryption.yaml both.yaml

# Empty, as if the power had failed: the step before it is needed, and nothing goes to the front.
: >tmp/key
exits 1 check new
exits 1 step 'encryption_new_is_first || exit 1'
exits 3 step encryption_new_to_front
complains "$place/tmp/key names no key of $place/encryption.yaml: run rm $place/tmp/key"
echo >tmp/key
exits 3 step 'encryption_new_is_first || exit 1'
echo key-20200101T000000Z >tmp/key
exits 3 step encryption_new_to_front
exits 3 step "encryption_put ''"
complains "was not changed"
cmp encryption.yaml both.yaml || fail "the keys were changed"

echo "$new" >tmp/key
exits 0 step encryption_new_to_front
[ "$(names)" = "$new
$old" ] || fail "the keys are $(names)"
exits 0 step 'encryption_new_is_first || exit 1'
