#!/usr/bin/env bash
# The MIG layout of a GPU as it was before is restored: off, on without instances, and on with instances; one that could not be read stays
# as it is. nvidia-smi is a double that keeps the mode and the instances in files.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files=undo

mkdir -p bin
cat >bin/nvidia-smi <<END
#!/bin/sh
echo "\$*" >>$place/calls
case \$* in
  *mig.mode*) echo "\$(cat $place/mode), \$(cat $place/mode)" ;;
  *'-mig 1') echo Enabled >$place/mode ;;
  *'-mig 0') echo Disabled >$place/mode ;;
  *-lgi)
    [ ! -e $place/lost ] || { echo 'No devices were found'; exit 6; }
    [ -s $place/instances ] || { echo 'No GPU instances found: Not Found'; exit 6; }
    for name in \$(cat $place/instances); do echo "|   0  MIG \$name        19        9          2:1     |"; done
    ;;
  *-dgi) : >$place/instances ;;
  *-cgi*)
    [ -n "\$5" ] || { echo 'Option "-cgi" is missing its value.'; exit 2; }
    echo "\$5" | tr , ' ' >$place/instances
    ;;
esac
END
chmod +x bin/nvidia-smi
slot=00000000:06:00.0
is() { in_step "kind=mig name=$slot was='$1'; undo_is_done"; }
undo() { in_step "kind=mig name=$slot was='$1' now= reader=; undo_apply"; }

# Journals have a blank after "on".
echo Enabled >mode
: >instances
exits 0 in_step "journal_thing mig $slot; mig_become $slot 'on 1g.18gb,3g.71gb'"
[ "$(cut -f 3 host/journal/log)" = 'on ' ] || fail "the journal is $(cat host/journal/log)"
[ "$(cat instances)" = '1g.18gb 3g.71gb' ] || fail "the instances are $(cat instances)"
for was in 'on ' on; do
  exits 0 in_step "mig_become $slot 'on 1g.18gb'"
  exits 0 undo "$was"
  exits 0 is 'on '
  [ ! -s instances ] || fail "there are instances: $(cat instances)"
done
exits 0 undo off
exits 0 is off
exits 1 is 'on 1g.18gb'
exits 0 undo 'on 1g.18gb'
exits 0 is 'on 1g.18gb'

# A failure of nvidia-smi does not mean that there are none.
: >lost
exits 0 in_step "mig_now $slot"
says 'pending unknown'
exits 0 is 'pending unknown'
exits 1 is 'on '
exits 3 undo 'on 1g.18gb'
complains "nvidia-smi does not report the MIG layout of GPU $slot"
