# shellcheck shell=sh
# Prints how much each program computes on the GPUs, as `nvidia-smi pmon` reports it.
smi=
for program in nvidia-smi /usr/local/nvidia/bin/nvidia-smi /opt/nvidia/bin/nvidia-smi /usr/lib/wsl/lib/nvidia-smi; do
  if [ -z "$smi" ] && command -v "$program" >/dev/null 2>&1; then smi=$program; fi
done
[ -n "$smi" ] || { echo "there is no nvidia-smi" >&2 && exit 1; }
timeout -k 1 10 "$smi" pmon -c 1 -s u
