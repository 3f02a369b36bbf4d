#!/usr/bin/env bash
# On a disk that fills up while the journal is written, nothing is changed that is not in the journal, no line of it is cut off, and
# undo restores what was changed.
. "$(dirname "$0")/common"

mkdir home etc
mount -t tmpfs -o size=64k,mode=0755 none home 2>/dev/null || skip 'cannot mount a file system in memory'
echo first >etc/first
works one <<END
content=second base_sha256=
file_put $place/etc/first 0644
END
# Space for a few lines of the journal, but not for another page.
head -c 100k /dev/zero >home/theirs 2>/dev/null || :
changed=0 refused=0
for i in $(seq 60); do
  echo "original $i" >"etc/$i"
  step one <<END
content=ours base_sha256=
file_put $place/etc/$i 0644
END
  if [ "$(cat "etc/$i")" = ours ]; then
    changed=$((changed + 1))
    grep -qF "file	$place/etc/$i	was" home/journal/log || fail "etc/$i was changed, and the journal does not have it"
  else
    refused=$((refused + 1))
    [ "$status" != 0 ] || fail "the step that did not change etc/$i says it did"
  fi
  [ -z "$(tail -c 1 home/journal/log)" ] || fail "a line of the journal is truncated"
done
[ "$refused" -gt 0 ] || fail "the disk was never full"
# Lines alone, without an original to keep.
for i in $(seq 60); do
  step one <<END
journal_thing sysctl net/ipv4/conf/all/a-name-that-is-long-enough-to-fill-a-page-$i
END
  [ "$status" != 0 ] || grep -q "fill-a-page-$i	" home/journal/log || fail "a line is missing, and the step continues"
  [ -z "$(tail -c 1 home/journal/log)" ] || fail "a line of the journal is truncated"
  [ "$status" = 0 ] || { complains "gpuadm changes nothing that it cannot record there" && break; }
done
[ "$status" != 0 ] || fail "the disk was never full"
rm home/theirs
works two undo.sh <<'END'
undo_read >&2
END
! grep -q '^bad' err || fail "unreadable lines"
[ "$(cat etc/first)" = second ] || fail "the first file"
