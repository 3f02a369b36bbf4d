# shellcheck shell=sh disable=SC2154
# Functions for steps that touch the control plane of a host that kubeadm has made: its static pods, its API server. They
# stand behind prelude.sh. What such steps keep, for as long as they are under way or as a way back, lies in
# /etc/kubernetes/tmp, as kubeadm's own: keys belong into no journal, and `gpuadm reset` removes it with the cluster.

cluster_kept=/etc/kubernetes/tmp
static_pods="etcd kube-apiserver kube-controller-manager kube-scheduler"
static_pod_folder=/etc/kubernetes/manifests
static_pods_away=$cluster_kept/gpuadm-manifests

admin_kubectl() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s "$@"; }
# With etcd behind it.
api_answers() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s get --raw /healthz >/dev/null 2>&1; }

# kubeadm_minor: 20 of v1.20.2.
kubeadm_minor() {
  gpuadm_minor=$(kubeadm version -o short 2>/dev/null | sed -nE 's/^v1\.([0-9]+).*/\1/p')
  [ -n "$gpuadm_minor" ] || die "kubeadm does not say which version it is: kubeadm version -o short"
  printf '%s\n' "$gpuadm_minor"
}

# cluster_keep_folder PATH: a folder for root alone.
cluster_keep_folder() { (umask 077 && mkdir -p "$1"); }

# static_pod_flag NAME FLAG: its value on the command line of a static pod.
static_pod_flag() {
  for gpuadm_at in "$static_pod_folder" "$static_pods_away"; do
    [ -f "$gpuadm_at/$1.yaml" ] || continue
    sed -nE "s/^ *- --$2=\"?([^\"]*)\"?\$/\\1/p" "$gpuadm_at/$1.yaml" | head -n 1
    return 0
  done
}
static_pod_is_there() { [ -f "$static_pod_folder/$1.yaml" ]; }

# static_pod_pids NAME: processes of that name in a pod.
static_pod_pids() {
  gpuadm_comm=$(printf '%.15s' "$1")
  for gpuadm_proc in /proc/[0-9]*; do
    { read -r gpuadm_read <"$gpuadm_proc/comm"; } 2>/dev/null || continue
    [ "$gpuadm_read" = "$gpuadm_comm" ] || continue
    ! grep -q kubepods "$gpuadm_proc/cgroup" 2>/dev/null || printf '%s\n' "${gpuadm_proc#/proc/}"
  done
}
# static_pod_runs NAME [NOT]: in another process than NOT.
static_pod_runs() {
  gpuadm_now=$(static_pod_pids "$1")
  [ -n "$gpuadm_now" ] && [ "$gpuadm_now" != "${2:-}" ]
}

# process_reads PID FILE...: whether it was started after these were put where they are. Ticks and files' times are a few
# hundredths of a second off; a program needs longer to come to its files.
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

# static_pod_reads NAME FILE...: the same of a static pod.
static_pod_reads() {
  gpuadm_pid=$(static_pod_pids "$1" | head -n 1)
  [ -n "$gpuadm_pid" ] || return 1
  shift
  process_reads "$gpuadm_pid" "$@"
}

# static_pod_restart NAME: its process is ended, and the kubelet starts it again.
static_pod_restart() {
  unit_is_active kubelet.service || die "the kubelet does not run, and nothing else would start $1 again: systemctl start kubelet"
  gpuadm_ended=$(static_pod_pids "$1")
  # shellcheck disable=SC2086 # a word a process
  [ -z "$gpuadm_ended" ] || kill -TERM $gpuadm_ended
  # An API server goes on for as long as somebody watches; it has nothing to lose.
  gpuadm_grace=30
  [ "$1" != kube-apiserver ] || gpuadm_grace=10
  if ! in_time "$gpuadm_grace" static_pod_ended "$1" "$gpuadm_ended"; then
    # shellcheck disable=SC2086
    kill -KILL $gpuadm_ended 2>/dev/null || :
  fi
  # One that kept failing is started again within five minutes.
  in_time 330 static_pod_runs "$1" "$gpuadm_ended" || die "the kubelet has not started $1 again within 330 s: journalctl -u kubelet"
  # Behind etcd there may be an API server that cannot answer before its own turn.
  [ "$1" = etcd ] || in_time 120 api_answers || die "the API server does not answer within 120 s of the start of $1: gpuadm doctor"
}
static_pod_ended() { [ -z "$2" ] || ! static_pod_pids "$1" | grep -qxF -- "$2"; }

# static_pods_stop: their manifests are moved away, and the kubelet ends them. Cut off, it is done again; static_pods_start
# puts back whatever is away.
static_pods_stop() {
  unit_is_active kubelet.service || die "the kubelet does not run, and nothing else would end the control plane: systemctl start kubelet"
  cluster_keep_folder "$static_pods_away"
  for gpuadm_pod in $static_pods; do
    [ ! -f "$static_pod_folder/$gpuadm_pod.yaml" ] || mv -f "$static_pod_folder/$gpuadm_pod.yaml" "$static_pods_away/"
  done
  if ! in_time 10 static_pods_are_stopped; then
    # shellcheck disable=SC2046 # as static_pod_restart does
    kill -KILL $(static_pod_pids kube-apiserver) 2>/dev/null || :
  fi
  in_time 90 static_pods_are_stopped || die "the kubelet has not ended the control plane within 90 s: journalctl -u kubelet"
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
  in_time 180 api_answers || die "the API server does not answer within 180 s of its start: gpuadm doctor, journalctl -u kubelet"
}

# --- Kubeconfigs of people -------------------------------------------------------------------------------

# kubeconfigs_stale: those of root and of who logged in that are copies of this cluster's admin.conf, and are so no longer.
kubeconfigs_stale() {
  for gpuadm_user in root ${SUDO_USER:-}; do
    gpuadm_config=$(getent passwd "$gpuadm_user" | cut -d: -f6)/.kube/config
    [ -f "$gpuadm_config" ] || continue
    [ "$(grep -c '^- cluster:' "$gpuadm_config")" -eq 1 ] || continue
    [ "$(grep certificate-authority-data "$gpuadm_config")" = "$(grep certificate-authority-data /etc/kubernetes/admin.conf)" ] || continue
    grep -q '^ *user: kubernetes-admin$' "$gpuadm_config" || continue
    [ "$(sha256_of "$gpuadm_config")" = "$(sha256_of /etc/kubernetes/admin.conf)" ] || printf '%s\n' "$gpuadm_config"
  done
}
# They hold a key, which is not for the journal: of one that gpuadm made, it says what was there before gpuadm.
kubeconfigs_refresh() {
  kubeconfigs_stale | while IFS= read -r gpuadm_config; do
    if journal_has file "$gpuadm_config" && ! journal_has file "$gpuadm_config" "$gpuadm_run"; then
      journal_line file "$gpuadm_config" "$(name=$gpuadm_config awk -F '\t' \
        '$1 == "file" && $2 == ENVIRON["name"] { print $3; exit }' "$gpuadm_journal/log")"
      journal_line +file "$gpuadm_config" any
    fi
    (umask 077 && cp /etc/kubernetes/admin.conf "$gpuadm_config.gpuadm.$$")
    chown --reference="$gpuadm_config" "$gpuadm_config.gpuadm.$$"
    mv -f "$gpuadm_config.gpuadm.$$" "$gpuadm_config"
  done
}
