# shellcheck shell=sh
# Reboots the machine that runs gpuadm in five seconds, so that gpuadm can write its report first.
sync
setsid sh -c 'sleep 5; systemctl reboot || reboot' >/dev/null 2>&1 </dev/null &
