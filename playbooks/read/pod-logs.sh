# shellcheck shell=sh disable=SC2154
# Reads the logs of pods with times, through kubectl on a control-plane node. Variables: namespace (a namespace); requests, one a line: POD
# CONTAINER SINCE, where SINCE is a time, or "-" for all; most (bytes of each). Prints for each pod "POD STATUS BYTES" and that many bytes: of
# the log, or if STATUS is not 0, of the reason.

export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=playbooks/kubeconfig.sh
[ "${kubeconfig_is_here:-}" = yes ] || . "$(dirname "$0")/../kubeconfig.sh"
find_kubeconfig
[ -n "$config" ] || { echo 'no /etc/kubernetes/admin.conf' >&2 && exit 3; }
umask 077
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT

read_log() {
  set -- "$1" "$2" ${3:+--since-time="$3"}
  pod=$1 container=$2
  shift 2
  timeout -k 2 20 kubectl --kubeconfig "$config" --request-timeout=15s -n "$namespace" logs "$pod" -c "$container" --timestamps \
    --limit-bytes="$most" "$@" </dev/null >"$place/$pod.all" 2>"$place/$pod.err"
  status=$?
  echo "$status" >"$place/$pod.status"
  if [ "$status" = 0 ]; then
    head -c "$most" "$place/$pod.all" >"$place/$pod"
  else
    [ "$status" != 124 ] || echo 'kubectl logs has not ended within 20s' >>"$place/$pod.err"
    tail -n 2 "$place/$pod.err" | head -c 1000 >"$place/$pod"
  fi
}

# At most eight at a time.
count=0
while read -r pod container since; do
  [ -n "$pod" ] || continue
  [ "$since" != - ] || since=
  read_log "$pod" "$container" "$since" &
  count=$((count + 1))
  [ $((count % 8)) != 0 ] || wait
done <<end
$requests
end
wait
while read -r pod container since; do
  [ -n "$pod" ] || continue
  echo "$pod $(cat "$place/$pod.status") $(wc -c <"$place/$pod")"
  cat "$place/$pod"
done <<end
$requests
end
