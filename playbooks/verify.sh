# shellcheck shell=sh disable=SC2154,SC2034
# Functions of `gpuadm verify` and of the last phases of init, join and upgrade, loaded after prelude.sh; the functions that clean
# up also require undo.sh.

verify_space=gpuadm-verify
verify_cluster() { kube --kubeconfig /etc/kubernetes/admin.conf --request-timeout=15s "$@"; }

# read_cluster: what the API server says of the cluster, as lines that are true, for cluster_says: on a control plane of
#   api                                    it answers
#   ready NODE, untainted NODE             without a control-plane taint
#   labels NODE "KEY":"VALUE",...
#   route NODE POD-CIDR ADDRESS
#   identity NODE UID BOOT-ID KUBELET POD-CIDR    columns apart by tabs
#   running COMPONENT                      a static pod, or kube-proxy, of kube-system runs
#   daemonset NAME                         of kube-system
#   dns, dns-settled                       CoreDNS is available, or does not exist; all of its pods are ready
#   sum NAME SHA256, objects NAME          the last applied version of a manifest; all of its objects exist
# and on a worker with routes to the other nodes the lines of nodes alone. What nodes say of themselves is quoted, so that it forges no line.
preview_reads="$preview_reads read_cluster"
# shellcheck disable=SC2016 # a template
cluster_node_template='{{if eq .kind "Node"}}node{{"\t"}}{{.metadata.name}}{{"\t"}}{{.metadata.uid}}{{"\t"}}{{with .status.nodeInfo.bootID}}{{printf "%q" .}}{{end}}{{"\t"}}{{with .status.nodeInfo.kubeletVersion}}{{printf "%q" .}}{{end}}{{"\t"}}{{with .spec.podCIDR}}{{.}}{{end}}{{"\t"}}{{range .status.addresses}}{{if eq .type "InternalIP"}}{{printf "%q" .address}} {{end}}{{end}}{{"\t"}}{{range .status.conditions}}{{if eq .type "Ready"}}{{printf "%q" .status}}{{end}}{{end}}{{"\t"}}{{range .spec.taints}}{{.key}} {{end}}{{"\t"}}{{range $key, $value := .metadata.labels}}"{{$key}}":"{{$value}}",{{end}}{{"\n"}}{{end}}'
# shellcheck disable=SC2016
cluster_other_template='{{if eq .kind "Pod"}}pod{{"\t"}}{{.metadata.name}}{{"\t"}}{{with .metadata.labels}}{{with index . "k8s-app"}}{{.}}{{end}}{{end}}{{"\t"}}{{printf "%q" .status.phase}}{{"\t"}}{{range .status.containerStatuses}}{{.ready}} {{with .state.waiting}}waits {{end}}{{end}}{{"\t"}}{{with .metadata.deletionTimestamp}}{{.}}{{end}}{{"\n"}}{{end}}{{if eq .kind "DaemonSet"}}daemonset{{"\t"}}{{.metadata.name}}{{"\n"}}{{end}}{{if eq .kind "Deployment"}}{{with .metadata.labels}}{{with index . "k8s-app"}}{{if eq . "kube-dns"}}dns{{end}}{{end}}{{end}}{{"\t"}}{{with .status.availableReplicas}}{{.}}{{end}}{{"\n"}}{{end}}{{if and (eq .kind "ConfigMap") (eq .metadata.name "gpuadm")}}{{range $key, $value := .data}}sum{{"\t"}}{{$key}}{{"\t"}}{{printf "%q" $value}}{{"\n"}}{{end}}{{end}}'
read_cluster() {
  gpuadm_cluster=
  have kubectl || return 0
  if [ -f /etc/kubernetes/admin.conf ] && [ -f "$gpuadm_home/cluster" ]; then
    set -- nodes,pods,daemonsets,deployments,configmaps "$cluster_node_template$cluster_other_template"
  elif [ ! -f /etc/kubernetes/admin.conf ] && [ -f /etc/kubernetes/kubelet.conf ] && [ -f "${bridge_unit:-}" ]; then
    set -- nodes "$cluster_node_template"
  else
    return 0
  fi
  gpuadm_rows=$(node_kubectl -n kube-system get "$1" -o "go-template={{range .items}}$2{{end}}" 2>/dev/null) || return 0
  gpuadm_cluster=$(printf '%s\n' "$gpuadm_rows" | cluster_facts)
  gpuadm_files=
  for gpuadm_file in /etc/kubernetes/gpuadm/*.yaml; do
    gpuadm_name=${gpuadm_file##*/}
    case $gpuadm_newline$gpuadm_cluster in *"${gpuadm_newline}sum ${gpuadm_name%.yaml} "*) gpuadm_files="$gpuadm_files $gpuadm_name" ;; esac
  done
  [ -n "$gpuadm_files" ] || return 0
  set --
  for gpuadm_name in $gpuadm_files; do set -- "$@" -f "/etc/kubernetes/gpuadm/$gpuadm_name"; done
  node_kubectl get "$@" -o name >/dev/null 2>&1 || return 0
  for gpuadm_name in $gpuadm_files; do gpuadm_cluster="$gpuadm_cluster${gpuadm_newline}objects ${gpuadm_name%.yaml}"; done
}
# cluster_facts: the lines from rows on stdin.
cluster_facts() {
  awk -F '\t' '
    BEGIN { print "api" }
    $1 == "node" {
      gsub(/"/, "", $4); gsub(/"/, "", $5); gsub(/"/, "", $7); sub(/ $/, "", $7)
      print "identity\t" $2 "\t" $3 "\t" $4 "\t" $5 "\t" $6
      print "route " $2 " " $6 " " $7
      if ($8 == "\"True\"") print "ready " $2
      if (" " $9 !~ / node-role\.kubernetes\.io\/(master|control-plane) /) print "untainted " $2
      print "labels " $2 " " $10
    }
    $1 == "pod" {
      pods++
      if ($4 == "\"Running\"" && $5 !~ /waits/)
        for (i = split("kube-apiserver kube-controller-manager kube-scheduler etcd kube-proxy", part, " "); i; i--)
          if (index($2, part[i] "-") == 1 && !seen[part[i]]++) print "running " part[i]
      if ($3 == "kube-dns" && $6 == "" && $5 !~ /^true /) open = 1
    }
    $1 == "daemonset" { print "daemonset " $2 }
    $1 == "dns" && $2 + 0 < 1 { away = 1 }
    $1 == "sum" { gsub(/"/, "", $3); print "sum " $2 " " $3 }
    END {
      if (!pods) exit
      if (!open) print "dns-settled"
      if (!away) print "dns"
    }'
}

# verify_control_plane_runs: by what was read: a pod of each component runs. etcd may be external, and the network plugin may replace
# kube-proxy.
verify_control_plane_runs() {
  cluster_says api || return 1
  ! cluster_says "daemonset kube-proxy" || cluster_says "running kube-proxy" || return 1
  [ ! -f /etc/kubernetes/manifests/etcd.yaml ] || cluster_says "running etcd" || return 1
  cluster_says "running kube-apiserver" && cluster_says "running kube-controller-manager" && cluster_says "running kube-scheduler"
}

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
  ! cluster_says dns || return 0
  verify_counts=$(verify_cluster -n kube-system get deployments -l k8s-app=kube-dns -o 'jsonpath={range .items[*]}{.metadata.name} {.status.availableReplicas}{"\n"}{end}') || return 1
  [ -n "$verify_counts" ] || return 0
  ! printf '%s\n' "$verify_counts" | grep -Evq ' [1-9][0-9]*$' || {
    printf '%s\n' "$verify_counts" | awk '{ print "deployment " $1 ": " $2 + 0 " pods are available" }'
    pods_unready kube-system -l k8s-app=kube-dns
    return 1
  }
}

# verify_dns_pods FILTER: CoreDNS's pods that awk's FILTER selects, of those that are neither ready nor being deleted. `began` is the time
# at which the pod started and `proxy` the one of kube-proxy on its node, in seconds, 0 before that; `waits` is why its container waits; `due`
# is 1 if kube-proxy has not started on its node yet.
# A pod that is not scheduled yet, or that the Deployment has not created yet (the replacement of a deleted one), counts as one on the node
# where kube-proxy started last.
verify_dns_pods() {
  verify_pods=$(verify_cluster -n kube-system get pods,deployments -l 'k8s-app in (kube-dns,kube-proxy)' -o 'jsonpath={range .items[*]}{.metadata.labels.k8s-app}|{.spec.nodeName}|{.metadata.name}|{.status.containerStatuses[0].ready}|{.status.containerStatuses[0].state.running.startedAt}|{.metadata.deletionTimestamp}|{.status.containerStatuses[0].state.waiting.reason}|{.spec.replicas}{"\n"}{end}') || return 2
  printf '%s\n' "$verify_pods" | while IFS='|' read -r app node pod ready started deleted waits replicas; do
    [ -n "$deleted" ] || printf '%s|%s|%s|%s|%s|%s|%s\n' "$app" "$node" "$pod" "$ready" "${started:+$(date -d "$started" +%s)}" "$waits" "$replicas"
  done | awk -F '|' -v now="$(date +%s)" '
    $7 != "" { wanted += $7; next }
    $1 == "kube-proxy" { began_on[$2] = $5; if (latest < $5 + 0) { latest = $5 + 0; last = $2 } }
    $1 == "kube-dns" { there++ }
    $1 == "kube-dns" && $4 != "true" { node_of[$3] = $2; began_of[$3] = $5; waits_of[$3] = $6 }
    END {
      while (there++ < wanted) node_of["to be created " there] = ""
      for (pod in node_of) {
        node = node_of[pod] == "" ? last : node_of[pod]
        due = (node in began_on) && began_on[node] == ""
        began = began_of[pod] + 0; proxy = began_on[node] + 0; waits = waits_of[pod]
        if ('"$1"') print pod
      }
    }'
}
# Those that started before kube-proxy on their node, or within 10 s after it, and are not ready 3 s later. Their first connection to the
# API server's Service was sent before kube-proxy translated its address; the kernel translates only new connections, so it fails with a
# timeout after 30 s ("dial tcp 10.96.0.1:443: i/o timeout" in CoreDNS's log). A connection that is translated makes them ready within 2 s.
verify_dns_early='began && proxy && began <= proxy + 10 && now >= began + 3'
# Those that may still become such pods: they have not started, or just now.
verify_dns_open='due || proxy && now < proxy + 20 && (began ? began <= proxy + 10 : waits ~ /^(|ContainerCreating|PodInitializing)$/)'
# Also where the API server does not answer: the wait for CoreDNS, which is next, has the time for that.
verify_dns_is_settled() {
  [ ! -e "$gpuadm_lock/dns-restarted" ] || return 0
  ! cluster_says dns-settled || return 0
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
# At most once per run, which the folder of its lock records: pods that start afterwards must not fail the check. The next step waits for
# them, and reports why they are not ready.
verify_dns_restart() {
  in_time 25 verify_dns_settle || say "pods of CoreDNS were not ready or replaced within 25 s"
  : >"$gpuadm_lock/dns-restarted"
}

# verify_dns_elsewhere: pods of CoreDNS whose address is not in the pod CIDR of their node: a CNI file of another program, such as podman's, was
# the only one when they started. Other nodes do not reach them. Nothing if the API server does not answer: the next steps wait for it.
verify_dns_elsewhere() {
  {
    verify_cluster get nodes -o 'jsonpath={range .items[*]}node {.metadata.name} {.spec.podCIDR}{"\n"}{end}' &&
      verify_cluster -n kube-system get pods -l k8s-app=kube-dns -o 'jsonpath={range .items[*]}pod {.metadata.name} {.spec.nodeName} {.status.podIP}{"\n"}{end}'
  } 2>/dev/null | awk '
    function number(text,    part) { split(text, part, "."); return ((part[1] * 256 + part[2]) * 256 + part[3]) * 256 + part[4] }
    $1 == "node" { cidr[$2] = $3 }
    $1 == "pod" && $4 ~ /^[0-9.]+$/ && cidr[$3] ~ /^[0-9.]+\/[0-9]+$/ {
      split(cidr[$3], net, "/")
      size = 2 ^ (32 - net[2])
      if (int(number($4) / size) != int(number(net[1]) / size)) print $2
    }'
}
# Only a host with a file of another plugin can have such a pod; init runs where CoreDNS starts first.
verify_dns_has_addresses() {
  for file in /etc/cni/net.d/*.conflist /etc/cni/net.d/*.conf; do
    case $file in *'/*.'* | */10-flannel.conflist) continue ;; esac
    [ -z "$(verify_dns_elsewhere)" ]
    return
  done
}
verify_dns_leave() {
  for pod in $(verify_dns_elsewhere); do
    verify_cluster -n kube-system delete pod "$pod" --ignore-not-found --wait=false >/dev/null
  done
  in_time 60 verify_dns_has_addresses || die "pods of CoreDNS have addresses of another network plugin again: move its file from /etc/cni/net.d away"
}

# Without --request-timeout, because a deletion is awaited with its own limit.
verify_patient() (
  kube_limit=$((gpuadm_end_of_pods + 30))
  kube --kubeconfig /etc/kubernetes/admin.conf "$@"
)
verify_kubectl() { verify_patient -n "$verify_space" --request-timeout=20s "$@"; }

# A pod is rejected before its namespace has the service account `default`.
verify_space_is_empty() {
  [ "$(verify_kubectl get namespace "$verify_space" -o 'jsonpath={.status.phase}' 2>/dev/null)" = Active ] || return 1
  verify_kubectl get serviceaccount default -o name >/dev/null 2>&1 || return 1
  verify_left=$(object_names verify_kubectl get pods) && [ -z "$verify_left" ] || return 1
  # A claim is deleted some time after its pod; until then its GPU is allocated. If resource.k8s.io is not served, there are no
  # claims.
  [ -z "$(object_names verify_kubectl get resourceclaims.resource.k8s.io,resourceclaimtemplates.resource.k8s.io 2>/dev/null)" ]
}

verify_space_make() {
  if [ "$(verify_kubectl get namespace "$verify_space" -o 'jsonpath={.status.phase}' 2>/dev/null)" = Terminating ]; then
    verify_space_remove
  fi
  verify_kubectl get namespace "$verify_space" -o name >/dev/null 2>&1 || verify_kubectl create namespace "$verify_space"
  verify_patient -n "$verify_space" delete pods --all --grace-period=1 --timeout="${gpuadm_end_of_pods}s"
  verify_kubectl delete resourceclaimtemplates.resource.k8s.io --all >/dev/null 2>&1 || : "resource.k8s.io is not served"
  in_time 120 verify_space_is_empty ||
    die "the namespace $verify_space has no service account, or still has claims, after 120s: run kubectl -n $verify_space get serviceaccounts,resourceclaims"
}

# Deletes the namespace with its content.
verify_space_remove() {
  verify_patient delete namespace "$verify_space" --ignore-not-found --timeout="${gpuadm_end_of_pods}s" >/dev/null
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
