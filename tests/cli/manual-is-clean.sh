#!/usr/bin/env bash
# The pages of the manual, one for each command, as mandoc and groff read them.
. "$(dirname "$0")/common"

exits 0 gpuadm manual pages
[ "$(find pages -name 'gpuadm*.1' | wc -l)" -gt 30 ]
grep -q 'gpuadm.*etcd.*restore' pages/gpuadm-etcd-restore.1
# No message of level style or above, except about long lines in the source.
mandoc -T lint -W style pages/*.1 >messages || true
grep -vE 'input text line longer than 80 bytes|referenced manual not found' messages >out || true
[ ! -s out ] || { : >err && fail 'mandoc complains'; }
for page in pages/*.1; do
  MANWIDTH=80 man --warnings=w -l -Tutf8 "$page" 2>err >shown || fail "man cannot show $page"
  [ ! -s err ] || fail "groff complains about $page"
done
SOURCE_DATE_EPOCH=86400 exits 0 gpuadm manual dated
grep -q '^.TH GPUADM 1 1970-01-02' dated/gpuadm.1
