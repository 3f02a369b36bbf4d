#!/usr/bin/env bash
# An image that is too small for the depot has its sum looked at on the host before the runtime reads it.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"

echo image >image
echo another >another
takes() { in_step "bundle_sha256=$(sha256sum <image | cut -d' ' -f1) && bundle_file_is_whole && cat" <"$1"; }
exits 0 takes image
says image
exits 3 takes another
complains "damaged in transit"
hides another
[ -z "$(ls host)" ] || fail "something is left: $(ls host)"
