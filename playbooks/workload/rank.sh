# shellcheck shell=sh
# Runs in the container of a rank before its command, which is in the arguments. Rank 0 gets its own address as MASTER_ADDR, because some
# frameworks listen on it. GPUADM_SOURCE, if it is set, is a read-only folder with the files of --src, which are copied to the working folder.
if [ "${RANK:-}" = 0 ] && [ -n "${GPUADM_POD_IP:-}" ] && [ "${WORLD_SIZE:-1}" != 1 ]; then
  export MASTER_ADDR="$GPUADM_POD_IP" PET_MASTER_ADDR="$GPUADM_POD_IP"
fi
if [ -n "${GPUADM_SOURCE:-}" ]; then
  for gpuadm_item in "$GPUADM_SOURCE"/* "$GPUADM_SOURCE"/.[!.]*; do
    [ ! -e "$gpuadm_item" ] || cp -RL "$gpuadm_item" . || { echo "gpuadm: cannot copy the files of --src to $(pwd)" >&2 && exit 126; }
  done
  unset gpuadm_item
fi
[ "$#" -gt 0 ] || { echo 'gpuadm: no command' >&2 && exit 127; }
exec "$@"
