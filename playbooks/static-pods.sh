# shellcheck shell=sh disable=SC2034,SC2154
# Functions for steps that change the control plane that kubeadm created on a host: its static pods and its API server. Loaded after
# prelude.sh, and before cluster.sh, which only reads. Temporary files and backups of such steps are in /etc/kubernetes/tmp, as those of kubeadm: keys must not be in the
# journal, and `gpuadm reset` removes the folder with the cluster.
static_pods_is_here=yes
# shellcheck source=playbooks/processes.sh
[ "${processes_is_here:-}" = yes ] || . "$(dirname "$0")/processes.sh"

cluster_kept=/etc/kubernetes/tmp
static_pods="etcd kube-apiserver kube-controller-manager kube-scheduler"
static_pod_folder=/etc/kubernetes/manifests
static_pods_away=$cluster_kept/gpuadm-manifests

admin_kubectl() { kube --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s "$@"; }
# healthz includes etcd.
api_answers() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s get --raw /healthz >/dev/null 2>&1; }

# kubeadm_minor: 20 for v1.20.2.
kubeadm_minor() {
  gpuadm_minor=$(kubeadm version -o short 2>/dev/null | sed -nE 's/^v1\.([0-9]+).*/\1/p')
  [ -n "$gpuadm_minor" ] || die "cannot read the version of kubeadm: run kubeadm version -o short"
  printf '%s\n' "$gpuadm_minor"
}

# cluster_keep_folder PATH: creates a folder that only root can read.
cluster_keep_folder() { (umask 077 && mkdir -p "$1"); }

# static_pod_flag NAME FLAG: the value of a flag on the command line of a static pod.
static_pod_flag() {
  for gpuadm_at in "$static_pod_folder" "$static_pods_away"; do
    [ -f "$gpuadm_at/$1.yaml" ] || continue
    sed -nE "s/^ *- --$2=\"?([^\"]*)\"?\$/\\1/p" "$gpuadm_at/$1.yaml" | head -n 1
    return 0
  done
}
# etcd_url, etcd_metrics_url: where this host's etcd listens, on a loopback address if it does: kubeadm uses [::1] with an IPv6 advertise address.
etcd_url() { etcd_listens listen-client-urls https://127.0.0.1:2379; }
etcd_metrics_url() { etcd_listens listen-metrics-urls http://127.0.0.1:2381; }
etcd_listens() {
  static_pod_flag etcd "$1" | tr , '\n' | awk -v usual="$2" '
    { sub(/\/\/0[.]0[.]0[.]0:/, "//127.0.0.1:"); sub(/\/\/\[::\]:/, "//[::1]:") }
    first == "" { first = $0 }
    own == "" && /^[a-z]+:\/\/(127[.][0-9.]+|localhost|\[::1\]):/ { own = $0 }
    END { print own != "" ? own : first != "" ? first : usual }'
}
static_pod_is_there() { [ -f "$static_pod_folder/$1.yaml" ]; }

# static_pod_pids NAME: processes with that name in a static pod of the host's network. User pods can run etcd or an API server, too, also in
# the host's network: their control group has a UID with hyphens, and that of a static pod a hash. A user's group can have any name.
static_pod_pids() {
  gpuadm_net=$(readlink /proc/self/ns/net)
  printf '%s\n' /proc/[0-9]* | awk -v name="$(printf '%.15s' "$1")" "$process_awk"'
    { pid = substr($0, match($0, /[0-9]+$/)) }
    name_of(pid) == name {
      group = control_group(pid)
      if (!is_users(group) && group ~ /kubepods(.*[\/-])?pod[0-9a-f]+(\.slice|\/|:|$)/) print pid
    }' |
    while read -r gpuadm_pid; do
      [ "$(readlink "/proc/$gpuadm_pid/ns/net" 2>/dev/null)" != "$gpuadm_net" ] || printf '%s\n' "$gpuadm_pid"
    done
}
# static_pod_runs NAME [NOT]: it runs in a process other than NOT.
static_pod_runs() {
  gpuadm_now=$(static_pod_pids "$1")
  [ -n "$gpuadm_now" ] && [ "$gpuadm_now" != "${2:-}" ]
}

# process_reads PID FILE...: whether the process was started after these files were put in place. Clock ticks and file times differ
# by a few hundredths of a second; a program takes longer to read its files.
process_reads() {
  gpuadm_pid=$1
  shift
  for gpuadm_file in "$@"; do
    [ ! -f "$gpuadm_file" ] || stat -L -c %.9Z "$gpuadm_file"
  done | awk -v ticks="$(process_start "$gpuadm_pid")" -v hertz="$(getconf CLK_TCK 2>/dev/null || echo 100)" \
    -v now="$(date +%s.%N)" -v up="$(cut -d' ' -f1 /proc/uptime)" '
    $1 > now - up + ticks / hertz + 0.03 { newer = 1 }
    END { exit ticks == "" || newer }'
}

# static_pod_reads NAME FILE...: the same for a static pod.
static_pod_reads() {
  gpuadm_pid=$(static_pod_pids "$1" | head -n 1)
  [ -n "$gpuadm_pid" ] || return 1
  shift
  process_reads "$gpuadm_pid" "$@"
}

# static_pod_restart NAME: terminates its process, and the kubelet restarts it.
static_pod_restart() {
  unit_is_active kubelet.service || die "the kubelet is not running and cannot restart $1: run systemctl start kubelet"
  gpuadm_ended=$(static_pod_pids "$1")
  # shellcheck disable=SC2086 # a word a process
  [ -z "$gpuadm_ended" ] || kill -TERM $gpuadm_ended
  # An API server waits for its watches to end; killing it loses no data.
  gpuadm_grace=30
  [ "$1" != kube-apiserver ] || gpuadm_grace=10
  if ! in_time "$gpuadm_grace" static_pod_ended "$1" "$gpuadm_ended"; then
    # shellcheck disable=SC2086
    kill -KILL $gpuadm_ended 2>/dev/null || :
  fi
  # The kubelet restarts a pod that failed repeatedly within five minutes.
  in_time 330 static_pod_runs "$1" "$gpuadm_ended" || die "the kubelet did not restart $1 within 330s: run journalctl -u kubelet"
  # After etcd, the API server may not respond before it is restarted itself.
  [ "$1" = etcd ] || in_time 120 api_answers || die "the API server does not respond within 120s after the start of $1: run gpuadm doctor"
}
static_pod_ended() { [ -z "$2" ] || ! static_pod_pids "$1" | grep -qxF -- "$2"; }

# static_pods_stop: moves the manifests away, and the kubelet stops the pods. It can be repeated after an interruption;
# static_pods_start moves back whatever is away.
static_pods_stop() {
  unit_is_active kubelet.service || die "the kubelet is not running and cannot stop the control plane: run systemctl start kubelet"
  cluster_keep_folder "$static_pods_away"
  for gpuadm_pod in $static_pods; do
    [ ! -f "$static_pod_folder/$gpuadm_pod.yaml" ] || mv -f "$static_pod_folder/$gpuadm_pod.yaml" "$static_pods_away/"
  done
  if ! in_time 10 static_pods_are_stopped; then
    # shellcheck disable=SC2046 # as static_pod_restart does
    kill -KILL $(static_pod_pids kube-apiserver) 2>/dev/null || :
  fi
  in_time 180 static_pods_are_stopped || die "the kubelet did not stop the control plane within 180s: run journalctl -u kubelet"
}
static_pods_are_stopped() {
  for gpuadm_pod in $static_pods; do [ -z "$(static_pod_pids "$gpuadm_pod")" ] || return 1; done
}
static_pods_are_away() { ls "$static_pods_away"/*.yaml >/dev/null 2>&1; }
static_pods_start() {
  for gpuadm_pod in $static_pods; do
    [ ! -f "$static_pods_away/$gpuadm_pod.yaml" ] || mv -f "$static_pods_away/$gpuadm_pod.yaml" "$static_pod_folder/"
  done
  rmdir "$static_pods_away" 2>/dev/null || :
  in_time 400 api_answers || die "the API server does not respond within 400s after its start: run gpuadm doctor, and journalctl -u kubelet"
}
