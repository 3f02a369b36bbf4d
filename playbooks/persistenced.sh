# shellcheck shell=sh disable=SC2034
# NVIDIA's persistence daemon, which keeps GPUs initialized between programs. Loaded after prelude.sh.

# persistenced_start: the command of its unit without --no-persistence-mode, with which packages of Ubuntu start it and GPUs are not kept.
# Empty: the unit has no such option.
persistenced_start() {
  systemctl cat nvidia-persistenced.service 2>/dev/null | sed -n 's/^ExecStart=\(..*\)/\1/p' | tail -n 1 |
    sed -n 's/ --no-persistence-mode//p'
}
persistenced_is_on() {
  [ -z "$(persistenced_start)" ] && unit_is_active nvidia-persistenced.service && unit_is_enabled nvidia-persistenced.service 2>/dev/null
}
persistenced_on() {
  journal_unit nvidia-persistenced.service
  start=$(persistenced_start)
  if [ -n "$start" ]; then
    content="# Written by gpuadm: GPUs stay initialized.
[Service]
ExecStart=
ExecStart=$start
"
    file_put /etc/systemd/system/nvidia-persistenced.service.d/gpuadm.conf 0644
    systemctl daemon-reload
    systemctl stop nvidia-persistenced.service
  fi
  unit_is_enabled nvidia-persistenced.service 2>/dev/null || systemctl enable --quiet nvidia-persistenced.service
  systemctl start nvidia-persistenced.service ||
    die "nvidia-persistenced.service failed to start: $(journalctl -u nvidia-persistenced.service -n 5 --no-pager -o cat 2>/dev/null)"
}
