#!/usr/bin/env bash
# A user prepares links for root in a folder of their own, and changes them meanwhile; root writes, opens, removes and reads nothing
# through them. What belongs there is done as that user.
. "$(dirname "$0")/common"

secret
mkdir theirs && chown "$mallory:" theirs

copies() { # copies PATH MODE CONTENT
  printf '%s' "$3" >freight
  bundle_sha256=$(sha256sum <freight | cut -d' ' -f1)
  step "${run:-one}" cp.sh <<END
path=$1 mode=$2 bundle_sha256=$bundle_sha256
(step_check() { cp_check; }; step_check) || cp_apply <$place/freight
END
}

# A copy and its undo, next to links.
as "$mallory" -- sh -c 'echo mine >theirs/f && chmod 0640 theirs/f'
plant theirs/f
run=one copies "$place/theirs/f" 644 $'freight\n'
[ "$status" = 0 ] || fail "cp fails"
secret_is_safe
[ "$(cat theirs/f)" = freight ] || fail "the file did not arrive"
[ "$(stat -c '%a %U' theirs/f)" = "644 $mallory" ] || fail "the file is $(stat -c '%a %U' theirs/f)"
plant theirs/f
works two undo.sh <<END
kind=file name=$place/theirs/f reader= now=
was=\$(awk -F '\t' '\$1 == "file" { print \$3; exit }' "\$gpuadm_journal/log")
undo_apply
END
secret_is_safe
[ "$(cat theirs/f)" = mine ] || fail "undo did not put the file back"
[ "$(stat -c '%a %U' theirs/f)" = "640 $mallory" ] || fail "the file is $(stat -c '%a %U' theirs/f)"
find theirs -name '*.gpuadm.*' -delete

# A file that was root's when it was noted is not given to the owner of the folder.
works three undo.sh <<END
cp $place/secret $place/theirs/kept && chmod 0600 $place/theirs/kept
journal_open
journal_line file $place/theirs/kept "\$(thing_now file $place/theirs/kept)"
cp $place/theirs/kept "\$gpuadm_journal/blobs/\$(sha256_of $place/theirs/kept)"
rm $place/theirs/kept
END
fails four undo.sh <<END
kind=file name=$place/theirs/kept reader= now=
was=\$(awk -F '\t' '\$1 == "file" { was = \$3 } END { print was }' "\$gpuadm_journal/log")
undo_apply
END
complains "belonged to the user id 0"
[ ! -e theirs/kept ] || fail "root's file was given to $mallory"

# What root would follow is refused, with what to do.
as "$mallory" -- ln -s "$place/secret" theirs/link
as "$mallory" -- ln -s "$place" theirs/folder
run=five copies "$place/theirs/link" 644 x
complains "$place/theirs/link is a symbolic link of $mallory: specify its target instead"
run=five copies "$place/theirs/folder/new" 644 x
complains "$place/theirs/folder is a symbolic link of $mallory"
[ ! -e new ] || fail "root wrote through a link"
secret_is_safe

# Removing and making folders.
mkdir -p roots/empty
works six undo.sh <<END
kind=directory name=$place/theirs/folder/roots/empty was=absent reader= now=
(undo_apply) || :
kind=file name=$place/theirs/folder/secret was=absent
(undo_apply) || :
END
[ -d roots/empty ] || fail "root removed a folder behind a link"
secret_is_safe
run=seven copies "$place/theirs/deep/er/f" 600 x
[ "$(stat -c %U theirs/deep theirs/deep/er theirs/deep/er/f | sort -u)" = "$mallory" ] || fail "what is below their folder is not theirs"

# Playbooks' own files are root's: a folder of a user on the way is refused.
as "$mallory" -- mkdir theirs/etc
fails eight <<END
content=x base_sha256=
file_put $place/theirs/etc/conf 0644
END
complains "$place/theirs belongs to $mallory, who could interfere with gpuadm: run chown root:root $place/theirs, then run again"
[ ! -e theirs/etc/conf ] || fail "root wrote into their folder"
fails eight <<END
bundle_sha256=$(printf x | sha256sum | cut -d' ' -f1)
printf x | file_install $place/theirs/etc/tool 0755
END
[ ! -e theirs/etc/tool ] || fail "root wrote into their folder"

# The journal has root's file, which they may not read: a link in the place of theirs, made between two looks, does not get it back for them.
as "$mallory" -- sh -c 'rm -f theirs/f; echo mine >theirs/f'
fails nine cp.sh <<END
thing_now() { printf 'was %s %s\n' "\$(stat -c '%a %u %g %.9Y' "\$2")" "\$(sha256_of $place/secret)"; }
path=$place/theirs/f mode=644 bundle_sha256=$(printf x | sha256sum | cut -d' ' -f1)
printf x | cp_apply
END
complains "cannot copy $place/theirs/f"

# Meanwhile the file becomes a link and a file again, and its folder, too.
# shellcheck disable=SC2016 # of the inner shell
as "$mallory" -- sh -c 'mkdir theirs/d; while [ -e "$3" ]; do rm -f theirs/d/f; ln -s "$1" theirs/d/f; rm -f theirs/d/f; echo x >theirs/d/f; mv theirs/d theirs/e; ln -s "$2" theirs/d; rm theirs/d; mv theirs/e theirs/d; done' \
  sh "$place/secret" "$place/roots" "$place/goes-on" >/dev/null 2>&1 &
for i in $(seq 20); do
  run=race$i copies "$place/theirs/d/f" 666 "content $i"
  step "back$i" undo.sh <<END
kind=file name=$place/theirs/d/f reader= now=
was=\$(awk -F '\t' -v name="\$name" '\$1 == "file" && \$2 == name { was = \$3 } END { print was }' "\$gpuadm_journal/log")
case \$was in was*|absent) undo_apply ;; esac
END
done
secret_is_safe
[ "$(find roots -mindepth 1)" = roots/empty ] || fail "root wrote where the folder's link led"
! grep -rqs root:secret theirs/ || fail "they have root's secret"
[ "$(grep -rls root:secret home/journal/blobs | grep -vc "$(sha256sum <secret | cut -d' ' -f1)")" = 0 ] || fail "the journal has root's file for theirs"
