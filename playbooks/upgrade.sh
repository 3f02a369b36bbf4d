# shellcheck shell=sh disable=SC2034,SC2154
# Functions for the steps of playbooks/upgrade.yaml. They inspect the host and the cluster each time, so an interrupted upgrade can
# be run again. Checks exit with 1 if work is left.

upgrade_kubectl() { kube --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s "$@"; }

# upgrade_see ARGUMENT...: prints what kubectl prints; also a check waits for an API server that restarts.
upgrade_see() (
  request_again=45
  upgrade_kubectl "$@" || die "the API server does not answer as expected: run kubectl get nodes"
)
upgrade_see_node() { upgrade_see get node "$1" -o "jsonpath=$2"; }

# --- kubeadm ---------------------------------------------------------------------------------------------

upgrade_components="kube-apiserver kube-controller-manager kube-scheduler"

# upgrade_static_pods_are_new: for a control plane; a worker has no static pods.
upgrade_static_pods_are_new() {
  for gpuadm_one in $upgrade_components; do
    gpuadm_file=/etc/kubernetes/manifests/$gpuadm_one.yaml
    [ ! -f "$gpuadm_file" ] || grep -Eq "image: .*/$gpuadm_one:v$kubernetes_version(@|\"|\$)" "$gpuadm_file" || return 1
  done
}

# kubeadm last updates its configuration in the cluster and then kube-proxy, if the cluster has it.
upgrade_is_applied() {
  upgrade_static_pods_are_new || exit 1
  gpuadm_config=$(upgrade_see -n kube-system get configmap kubeadm-config -o 'jsonpath={.data.ClusterConfiguration}') || exit 3
  printf '%s\n' "$gpuadm_config" | grep -qxF "kubernetesVersion: v$kubernetes_version" || exit 1
  gpuadm_proxy=$(upgrade_see -n kube-system get daemonset kube-proxy --ignore-not-found \
    -o 'jsonpath={.spec.template.spec.containers[0].image}') || exit 3
  case $gpuadm_proxy in '' | *:v"$kubernetes_version" | *:v"$kubernetes_version"@*) ;; *) exit 1 ;; esac
}

# The kubelet is upgraded only after kubeadm upgrade node.
upgrade_node_is_done() {
  upgrade_static_pods_are_new || exit 1
  [ "$(kubelet --version 2>/dev/null)" = "Kubernetes v$kubernetes_version" ] ||
    [ "$(cat "$gpuadm_home/upgraded" 2>/dev/null)" = "$kubernetes_version" ] || exit 1
}

# upgrade_kubeadm apply|node [ARGUMENT...]
upgrade_kubeadm() {
  gpuadm_what=$1
  shift
  gpuadm_ignored=ImagePull # kubeadm pulls images that a bundle need not contain; those that it contains are imported
  if [ "$gpuadm_what" = apply ]; then
    # Without kubeadm's DNS add-on its checks must be skipped.
    gpuadm_dns=$(object_names upgrade_see -n kube-system get configmap coredns kube-dns --ignore-not-found)
    [ -n "$gpuadm_dns" ] || gpuadm_ignored=$gpuadm_ignored,CoreDNSUnsupportedPlugins,CoreDNSMigration
  fi
  # From 1.35 on kubeadm rejects cgroup v1 even if failCgroupV1 is false (system-validators, cgroup_validator_linux.go).
  ! grep -q '^failCgroupV1: false$' /var/lib/kubelet/config.yaml || gpuadm_ignored=$gpuadm_ignored,SystemVerification
  gpuadm_log=$gpuadm_home/kubeadm-upgrade.log
  (umask 077 && : >"$gpuadm_log")
  upgrade_crictl
  if ! PATH=$PATH:$gpuadm_home/upgrade-bin kubeadm upgrade "$gpuadm_what" --ignore-preflight-errors="$gpuadm_ignored" "$@" \
    >"$gpuadm_log" 2>&1; then
    rm -rf "$gpuadm_home/upgrade-bin"
    tail -n 25 "$gpuadm_log" >&2
    die "kubeadm upgrade $gpuadm_what failed: see $gpuadm_log on the host, fix the cause, then run the same command again"
  fi
  rm -rf "$gpuadm_home/upgrade-bin"
}

# kubeadm lists images with crictl, which a bundle need not contain: without it, a wrapper around ctr is used.
upgrade_crictl() {
  mkdir -p "$gpuadm_home/upgrade-bin"
  ! have crictl || return 0
  have ctr || return 0
  cat >"$gpuadm_home/upgrade-bin/crictl" <<'END'
#!/bin/sh
# crictl -r SOCKET inspecti IMAGE
[ "$3" = inspecti ] && [ -n "$(ctr --timeout 10s -n k8s.io images ls -q "name==$4")" ]
END
  chmod 0755 "$gpuadm_home/upgrade-bin/crictl"
}

# --- Draining and uncordoning ----------------------------------------------------------------------------
# The node's annotation gpuadm.io/upgrade marks it as being upgraded, and records its state: "uncordon" if gpuadm cordoned it,
# "keep" if it was already cordoned, followed by "drained" once it is drained. It is written before the node is cordoned.

upgrade_note() { upgrade_see_node "$1" '{.metadata.annotations.gpuadm\.io/upgrade}'; }
upgrade_write_note() { upgrade_kubectl annotate --overwrite node "$1" "gpuadm.io/upgrade=$2" >/dev/null; }
# upgrade_runs_new NODE
upgrade_runs_new() {
  gpuadm_version=$(upgrade_see_node "$1" '{.status.nodeInfo.kubeletVersion}') || exit 3
  [ "$gpuadm_version" = "v$kubernetes_version" ]
}
# upgrade_is_cordoned NODE
upgrade_is_cordoned() {
  gpuadm_cordoned=$(upgrade_see_node "$1" '{.spec.unschedulable}') || exit 3
  [ "$gpuadm_cordoned" = true ]
}

# upgrade_pods NODE: the pods that drain must evict, one NAMESPACE/NAME per line, without those of DaemonSets and static pods.
upgrade_pods() {
  gpuadm_pods=$(upgrade_see get pods --all-namespaces --field-selector "spec.nodeName=$1,status.phase!=Succeeded,status.phase!=Failed" -o "$pod_rows") || return 1
  printf '%s\n' "$gpuadm_pods" | awk -F '\t' 'NF == 5 && $2 != "\"DaemonSet\"" && $2 != "\"Node\"" && $3 == "" { print $1 }'
}

# upgrade_is_drained NODE: the node is drained, or already upgraded.
upgrade_is_drained() {
  if upgrade_runs_new "$1"; then return 0; fi
  gpuadm_said=$(upgrade_note "$1") || exit 3
  case $drain:$gpuadm_said in
    no:?*) ;;
    yes:*" drained") upgrade_is_cordoned "$1" || exit 1 ;;
    *) exit 1 ;;
  esac
}

upgrade_drain_all() {
  gpuadm_drains=
  for node in $each_nodes; do
    upgrade_drain "$node" &
    gpuadm_drains="$gpuadm_drains $!"
  done
  gpuadm_failed=
  for gpuadm_drain in $gpuadm_drains; do wait "$gpuadm_drain" || gpuadm_failed=yes; done
  [ -z "$gpuadm_failed" ]
}

# upgrade_drain NODE: runs in a subshell.
upgrade_drain() {
  if upgrade_runs_new "$1"; then return 0; fi
  gpuadm_said=$(upgrade_note "$1") || exit 3
  gpuadm_said=${gpuadm_said%% *}
  if [ -z "$gpuadm_said" ]; then
    gpuadm_said=uncordon
    if upgrade_is_cordoned "$1"; then gpuadm_said=keep; fi
    upgrade_write_note "$1" "$gpuadm_said"
  fi
  [ "$drain" = yes ] || return 0
  gpuadm_there=$(upgrade_pods "$1") || exit 3
  gpuadm_local=--delete-emptydir-data
  kubectl drain --help 2>/dev/null | grep -q -- "$gpuadm_local" || gpuadm_local=--delete-local-data
  # --request-timeout would interrupt kubectl's watches.
  if gpuadm_why=$(kube_limit=$((drain_timeout + 30)) && kube --kubeconfig /etc/kubernetes/admin.conf drain "$1" --ignore-daemonsets \
    "$gpuadm_local" --timeout="${drain_timeout}s" 2>&1); then
    upgrade_write_note "$1" "$gpuadm_said drained"
  else
    upgrade_say_stuck "$1"
  fi
}

# upgrade_say_stuck NODE: prints the pods that were not evicted, and the commands to run. Pods that arrived in the meantime tolerate
# a cordoned node.
upgrade_say_stuck() {
  gpuadm_left=$(upgrade_pods "$1") || exit 3
  printf '%s\n' "$gpuadm_why" | grep -E 'Cannot evict|violate|cannot delete' | sort -u | tail -n 3 >&2 || :
  for gpuadm_pod in $gpuadm_left; do
    printf '%s\n' "$gpuadm_there" | grep -qxF "$gpuadm_pod" || continue
    say "$gpuadm_pod was not evicted from $1 within ${drain_timeout}s. Check: kubectl -n ${gpuadm_pod%%/*} get poddisruptionbudgets. To delete it: kubectl -n ${gpuadm_pod%%/*} delete pod ${gpuadm_pod#*/}"
  done
  die "$1 stays cordoned and was not upgraded. Run the same command again, with a longer --drain-timeout if needed. To cancel: kubectl uncordon $1; kubectl annotate node $1 gpuadm.io/upgrade-"
}

# The running kubelet is the installed one, and has the new version.
upgrade_kubelet_runs() {
  [ "$(kubelet --version)" = "Kubernetes v$kubernetes_version" ] || exit 1
  unit_is_active kubelet.service || exit 1
  gpuadm_pid=$(systemctl show --property MainPID --value kubelet.service)
  [ "$(stat -L -c '%d %i' "/proc/$gpuadm_pid/exe" 2>/dev/null)" = "$(stat -L -c '%d %i' "$(command -v kubelet)")" ] || exit 1
}

# upgrade_is_ready NODE: its output is shown while waiting.
upgrade_is_ready() {
  gpuadm_now=$(upgrade_kubectl get node "$1" -o \
    'jsonpath={.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}')
  say "$1: $gpuadm_now"
  case $gpuadm_now in "v$kubernetes_version True "*) ;; *) exit 1 ;; esac
}

# upgrade_has_returned NODE
upgrade_has_returned() {
  upgrade_runs_new "$1" || exit 1
  gpuadm_said=$(upgrade_note "$1") || exit 3
  [ -z "$gpuadm_said" ] || exit 1
}
# An API server on a node that was just upgraded may restart once more.
upgrade_return() {
  gpuadm_said=$(upgrade_note "$1") || exit 3
  case $gpuadm_said in uncordon*) upgrade_kubectl uncordon "$1" >/dev/null || exit 3 ;; esac
  upgrade_kubectl annotate node "$1" gpuadm.io/upgrade- >/dev/null || exit 3
}

# A cluster without kube-proxy is satisfied.
upgrade_proxy_is_new() {
  gpuadm_now=$(upgrade_kubectl -n kube-system get daemonset kube-proxy --ignore-not-found -o \
    'jsonpath={.metadata.generation}={.status.observedGeneration} {.status.desiredNumberScheduled}={.status.updatedNumberScheduled} {.status.desiredNumberScheduled}={.status.numberAvailable}')
  for gpuadm_pair in $gpuadm_now; do
    # kubectl omits a count of 0.
    gpuadm_want=${gpuadm_pair%=*} gpuadm_is=${gpuadm_pair#*=}
    if [ "${gpuadm_want:-0}" != "${gpuadm_is:-0}" ]; then
      say "kube-proxy: generation, updated and available are $gpuadm_now"
      exit 1
    fi
  done
}
