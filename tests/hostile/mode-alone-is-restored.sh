#!/usr/bin/env bash
# security.profile: hardened restricts units of packages. The journal records the mode alone, so that undo restores it and keeps what an
# upgrade of the package has written in the meantime; no link is followed.
. "$(dirname "$0")/common"

unit=$place/systemd/system/kubelet.service
mkdir -p "${unit%/*}"
mode() { stat -c %a "$1"; }
closes() { # closes RUN FILE
  step "$1" network.sh hardening.sh <<END
hardened_file_close $2
END
}
undoes() { # undoes FILE MODE
  step undo undo.sh <<END
kind=mode name=$1 was=$2 now='' reader=''
undo_check || undo_apply
undo_check
END
}
journaled() { awk -F '\t' -v file="$1" '$2 == file { print $1, $3 }' home/journal/log; }

echo of-the-package >"$unit" && chmod 0644 "$unit"
closes one "$unit"
[ "$status" = 0 ] || fail "$(cat err)"
[ "$(mode "$unit")" = 600 ] || fail "the mode is $(mode "$unit")"
[ "$(journaled "$unit")" = "mode 644" ] || fail "the journal has: $(journaled "$unit")"
echo of-the-next-package >"$unit"
undoes "$unit" 644
[ "$status" = 0 ] || fail "$(cat err)"
[ "$(mode "$unit") $(cat "$unit")" = "644 of-the-next-package" ] || fail "undo left $(mode "$unit") $(cat "$unit")"
rm "$unit"
undoes "$unit" 644
[ "$status" = 0 ] || fail "a file that is gone is in the way: $(cat err)"

# A file that gpuadm wrote is recorded as such.
step two <<END
content=ours base_sha256=
file_put $unit 0644
END
closes three "$unit"
[ "$(mode "$unit")" = 600 ] || fail "the mode is $(mode "$unit")"
! grep -q "^mode.*three$" home/journal/log || fail "two kinds of lines for one file"

# A user's folder on the way, and a link.
chown "$mallory:" systemd/system
closes four "$unit"
[ "$status" != 0 ] || fail "a file in a user's folder was changed"
complains "belongs to $mallory"
chown root: systemd/system
echo secret >others && chmod 0640 others
ln -sfT "$place/others" "$unit"
undoes "$unit" 644
[ "$(mode others)" = 640 ] || fail "undo followed a link"
