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

# verify_dns_early: CoreDNS's pods that are not ready and started before or within 3 s after kube-proxy on their node. Their first
# connection to the API server's Service was sent before kube-proxy translated its address; the kernel translates only new connections,
# so it fails with a timeout after 30 s ("dial tcp 10.96.0.1:443: i/o timeout" in CoreDNS's log).
verify_dns_early() {
  verify_pods=$(verify_cluster -n kube-system get pods -l 'k8s-app in (kube-dns,kube-proxy)' -o 'jsonpath={range .items[*]}{.metadata.labels.k8s-app} {.spec.nodeName} {.metadata.name} {.status.containerStatuses[0].ready} {.status.containerStatuses[0].state.running.startedAt}{"\n"}{end}') || return 2
  printf '%s\n' "$verify_pods" | while read -r app node pod ready started; do
    [ -z "$started" ] || printf '%s %s %s %s %s\n' "$app" "$node" "$pod" "$ready" "$(date -d "$started" +%s)"
  done | awk '$1 == "kube-proxy" { proxy[$2] = $5 } $1 == "kube-dns" && $4 == "false" { node[$3] = $2; began[$3] = $5 }
    END { for (pod in began) if (node[pod] in proxy && began[pod] <= proxy[node[pod]] + 3) print pod }'
}
# Their replacements start later than that.
verify_dns_restart() {
  sleep 3
  for pod in $(verify_dns_early); do
    verify_cluster -n kube-system delete pod "$pod" --ignore-not-found --wait=false >/dev/null
  done
  in_time 15 verify_dns_has_restarted || die "CoreDNS's pods were not replaced within 15 s: run kubectl -n kube-system get pods -l k8s-app=kube-dns"
}
# Also where the API server does not answer: the wait for CoreDNS, which is next, has the time for that.
verify_dns_has_restarted() {
  verify_early=$(verify_dns_early) || return 0
  [ -z "$verify_early" ]
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
