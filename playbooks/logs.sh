#!/bin/sh
# Prints the last log lines of a unit, or of a Kubernetes component that runs in a pod of kube-system. Changes nothing. Variables:
# what, a unit or a component; log_lines, the number of lines; since, seconds since 1970, or empty.

# shellcheck source=playbooks/frame.sh
[ "${frame_is_here:-}" = yes ] || . "$(dirname "$0")/frame.sh"
what=${what:-kubelet} log_lines=${log_lines:-100} since=${since:-}

# The kubelet stores the logs of containers; the newest file belongs to the container that runs, or ran last.
pod_log() {
  newest=
  for file in /var/log/pods/kube-system_"$what"-*/*/*.log; do
    [ -r "$file" ] || continue
    if [ -z "$newest" ] || [ -n "$(find -L "$file" -newer "$newest")" ]; then newest=$file; fi
  done
  if [ -z "$newest" ]; then
    echo "no log of $what exists below /var/log/pods: it has not run on this host" >&2
    return 1
  fi
  from=
  [ -z "$since" ] || from=$(date -d "@$since" +%Y-%m-%dT%H:%M:%S)
  # containerd starts each line with its time, in the host's time zone.
  limit 20 tail -n "$log_lines" "$newest" | from=$from awk '/^\{/ || ENVIRON["from"] == "" || $1 >= ENVIRON["from"]'
}

unit_log() {
  if ! limit 10 systemctl cat --no-pager -- "$what" >/dev/null 2>&1; then
    echo "unit $what does not exist on this host" >&2
    return 1
  fi
  set -- -u "$what" -n "$log_lines" -o short-iso --no-hostname -q --no-pager
  [ -z "$since" ] || set -- "$@" --since "@$since"
  limit 40 journalctl "$@"
}

export LC_ALL=C
case $what in
  kube-apiserver | kube-controller-manager | kube-scheduler | kube-proxy | etcd) pod_log ;;
  *) unit_log ;;
esac
