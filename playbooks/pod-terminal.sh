# shellcheck shell=sh disable=SC2154
# A program in a pod for a person who types: becomes kubectl exec. Arguments: namespace, object (KIND/NAME), container, yes if the input is a
# terminal, and the command; without one, bash, or sh where the image has no bash.

PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=playbooks/kubeconfig.sh
[ "${kubeconfig_is_here:-}" = yes ] || . "$(dirname "$0")/kubeconfig.sh"
find_kubeconfig
[ -n "$config" ] || { echo 'gpuadm: this host has no kubeconfig of an administrator that may be read' >&2 && exit 3; }

ns=$1 object=$2 container=$3 terminal=$4
shift 4
# shellcheck disable=SC2016 # the pod's sh
[ $# -gt 0 ] || set -- sh -c 'if command -v bash >/dev/null; then exec bash; fi; exec sh'
if [ "$terminal" = yes ]; then options=-it; else options=-i; fi
exec kubectl --kubeconfig "$config" -n "$ns" exec "$options" "$object" -c "$container" -- "$@"
