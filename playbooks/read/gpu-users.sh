# shellcheck shell=sh disable=SC2154
# Prints who uses one GPU of this host. Variables: uuid; device, its file ("/dev/nvidia1"), or empty.
# shellcheck source=playbooks/processes.sh
[ "${processes_is_here:-}" = yes ] || . "$(dirname "$0")/../processes.sh"
# shellcheck source=playbooks/gpu-users.sh
[ "${gpu_users_is_here:-}" = yes ] || . "$(dirname "$0")/../gpu-users.sh"

echo 'gpuadm-gpu-users 1'
echo '=== pods'
gpu_user_pods "$uuid"
echo '=== programs'
gpu_user_programs "$device"
echo '=== end'
