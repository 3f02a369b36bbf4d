#!/usr/bin/env bash
# The persistence daemon keeps GPUs initialized also where the package's unit starts it with --no-persistence-mode, as on Ubuntu: a drop-in
# replaces the command without the option. systemctl is a double that prints the unit with the drop-in.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files="persistenced fix"

mkdir -p bin
cat >bin/systemctl <<END
#!/bin/sh
case \$1 in
  cat) cat $place/unit $place/drop-in 2>/dev/null ;;
  is-active | is-enabled) ;;
  *) echo "\$*" >>$place/calls ;;
esac
END
chmod +x bin/systemctl
files="file_put() { printf '%s' \"\$content\" >$place/drop-in; echo \"put \$1\" >>$place/calls; }
journal_unit() { :; }
unit_is_active() { :; }
unit_is_enabled() { :; }"
step() { in_step "$files
$(script fix/gpu.yaml fix.gpu.persistence "$1")"; }

printf '[Service]\nType=forking\nExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --verbose\n' >unit
exits 0 step check
printf '[Service]\nType=forking\nExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode --verbose\n' >unit
exits 1 step check
exits 0 step apply
[ "$(cat drop-in)" = '# Written by gpuadm: GPUs stay initialized.
[Service]
ExecStart=
ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --verbose' ] || fail "the drop-in is $(cat drop-in)"
[ "$(cat calls)" = 'put /etc/systemd/system/nvidia-persistenced.service.d/gpuadm.conf
daemon-reload
stop nvidia-persistenced.service
start nvidia-persistenced.service' ] || fail "it was: $(cat calls)"
exits 0 step check
