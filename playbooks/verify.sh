# shellcheck shell=sh disable=SC2154,SC2034
# Functions of `gpuadm verify` and of the last phases of init, join and upgrade, loaded after prelude.sh; the functions that clean
# up also require undo.sh.

verify_space=gpuadm-verify
verify_cluster() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=15s "$@"; }

# verify_daemonset NAMESPACE NAME SELECTOR: its pods are ready on every node on which they belong; prints those that are not. A
# DaemonSet that does not exist is satisfied.
verify_daemonset() {
  verify_counts=$(verify_cluster -n "$1" get daemonset "$2" --ignore-not-found -o 'jsonpath={.status.desiredNumberScheduled} {.status.numberReady} {.status.updatedNumberScheduled} {.status.observedGeneration} {.metadata.generation}') || return 1
  [ -n "$verify_counts" ] || return 0
  # shellcheck disable=SC2086 # five numbers; a count of 0 may be missing
  set -- "$1" "$2" "$3" $verify_counts
  [ "$#" -eq 8 ] && [ "$4" -gt 0 ] && [ "$4" = "$5" ] && [ "$4" = "$6" ] && [ "$7" = "$8" ] && return 0
  echo "${5:-0} of ${4:-0} pods of $2 are ready"
  pods_unready "$1" -l "$3"
  return 1
}

# The cluster's DNS: CoreDNS, by kubeadm's label. A cluster without it is satisfied.
verify_dns() {
  verify_counts=$(verify_cluster -n kube-system get deployments -l k8s-app=kube-dns -o 'jsonpath={range .items[*]}{.metadata.name} {.status.availableReplicas}{"\n"}{end}') || return 1
  [ -n "$verify_counts" ] || return 0
  ! printf '%s\n' "$verify_counts" | grep -Evq ' [1-9][0-9]*$' || {
    printf '%s\n' "$verify_counts" | awk '{ print "deployment " $1 ": " $2 + 0 " pods are available" }'
    pods_unready kube-system -l k8s-app=kube-dns
    return 1
  }
}

# verify_dns_pods FILTER: CoreDNS's pods that awk's FILTER selects, of those that are neither ready nor being deleted. `began` is the time
# at which the pod started and `proxy` the one of kube-proxy on its node, in seconds, 0 before that; `waits` is why its container waits.
verify_dns_pods() {
  verify_pods=$(verify_cluster -n kube-system get pods -l 'k8s-app in (kube-dns,kube-proxy)' -o 'jsonpath={range .items[*]}{.metadata.labels.k8s-app}|{.spec.nodeName}|{.metadata.name}|{.status.containerStatuses[0].ready}|{.status.containerStatuses[0].state.running.startedAt}|{.metadata.deletionTimestamp}|{.status.containerStatuses[0].state.waiting.reason}{"\n"}{end}') || return 2
  printf '%s\n' "$verify_pods" | while IFS='|' read -r app node pod ready started deleted waits; do
    [ -n "$deleted" ] || printf '%s|%s|%s|%s|%s|%s\n' "$app" "$node" "$pod" "$ready" "${started:+$(date -d "$started" +%s)}" "$waits"
  done | awk -F '|' -v now="$(date +%s)" '
    $1 == "kube-proxy" { began_on[$2] = $5 }
    $1 == "kube-dns" && $4 != "true" { node_of[$3] = $2; began_of[$3] = $5; waits_of[$3] = $6 }
    END { for (pod in node_of) { began = began_of[pod] + 0; proxy = began_on[node_of[pod]] + 0; waits = waits_of[pod]; if ('"$1"') print pod } }'
}
# Those that started before kube-proxy on their node, or within 10 s after it, and are not ready 3 s later. Their first connection to the
# API server's Service was sent before kube-proxy translated its address; the kernel translates only new connections, so it fails with a
# timeout after 30 s ("dial tcp 10.96.0.1:443: i/o timeout" in CoreDNS's log). A connection that is translated makes them ready within 2 s.
verify_dns_early='began && proxy && began <= proxy + 10 && now >= began + 3'
# Those that may still become such pods: they have not started, or just now.
verify_dns_open='proxy && now < proxy + 20 && (began ? began <= proxy + 10 : waits ~ /^(|ContainerCreating|PodInitializing)$/)'
# Also where the API server does not answer: the wait for CoreDNS, which is next, has the time for that.
verify_dns_is_settled() {
  verify_left=$(verify_dns_pods "($verify_dns_early) || ($verify_dns_open)") || return 0
  [ -z "$verify_left" ]
}
# Deletes the early ones; their replacements start later.
verify_dns_settle() {
  for pod in $(verify_dns_pods "$verify_dns_early"); do
    verify_cluster -n kube-system delete pod "$pod" --ignore-not-found --wait=false >/dev/null
  done
  verify_dns_is_settled
}
verify_dns_restart() {
  in_time 25 verify_dns_settle || die "pods of CoreDNS that started before kube-proxy were not replaced within 25 s: run kubectl -n kube-system get pods -l k8s-app=kube-dns"
}

# Without --request-timeout, because a deletion is awaited with its own limit.
verify_patient() { timeout 150 kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }
verify_kubectl() { verify_patient -n "$verify_space" --request-timeout=20s "$@"; }

# A pod is rejected before its namespace has the service account `default`.
verify_space_is_empty() {
  [ "$(verify_kubectl get namespace "$verify_space" -o 'jsonpath={.status.phase}' 2>/dev/null)" = Active ] || return 1
  verify_kubectl get serviceaccount default -o name >/dev/null 2>&1 || return 1
  [ -z "$(verify_kubectl get pods -o name)" ] || return 1
  # A claim is deleted some time after its pod; until then its GPU is allocated. If resource.k8s.io is not served, there are no
  # claims.
  [ -z "$(verify_kubectl get resourceclaims.resource.k8s.io,resourceclaimtemplates.resource.k8s.io -o name 2>/dev/null)" ]
}

verify_space_make() {
  if [ "$(verify_kubectl get namespace "$verify_space" -o 'jsonpath={.status.phase}' 2>/dev/null)" = Terminating ]; then
    verify_space_remove
  fi
  verify_kubectl get namespace "$verify_space" -o name >/dev/null 2>&1 || verify_kubectl create namespace "$verify_space"
  verify_patient -n "$verify_space" delete pods --all --grace-period=1 --timeout=120s
  verify_kubectl delete resourceclaimtemplates.resource.k8s.io --all >/dev/null 2>&1 || : "resource.k8s.io is not served"
  in_time 60 verify_space_is_empty ||
    die "the namespace $verify_space has no service account, or still has claims, after 60s: run kubectl -n $verify_space get serviceaccounts,resourceclaims"
}

# Deletes the namespace with its content.
verify_space_remove() {
  verify_patient delete namespace "$verify_space" --ignore-not-found --timeout=120s >/dev/null
}

# Removes the images that this run imported, and the run's journal entries.
verify_host_restore() {
  [ -f "$gpuadm_journal/log" ] || return 0
  awk -F '\t' -v run="$gpuadm_run" 'NF == 5 && $5 == run && $3 == "absent" && $1 ~ /image$/ { print $1 "\t" $2 }' "$gpuadm_journal/log" |
    while IFS=$gpuadm_tab read -r kind name; do
      was=absent now=''
      undo_apply
    done
  runs=$gpuadm_run kept='' unreadable=''
  undo_forget
}
