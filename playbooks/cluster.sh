#!/bin/sh
# Reads the state of a cluster on a control plane, and changes nothing. Runs on a host with an administrator's kubeconfig. The
# output is described in docs/reference/cluster.md; the columns of a table are separated by tabs. Variables: namespace, a namespace
# whose pods, and with logs=yes whose logs, are the only output; purpose=status: only the data of the status command, with the
# members of etcd; purpose=dashboard: the same and the runtime classes; purpose=upgrade: everything, with the members of etcd;
# purpose=workload: only nodes, pods, runtime classes and devices; purpose=pod: the data of `gpuadm explain pod`,
# with the functions of playbooks/read/pod.sh before this script.

# shellcheck source=playbooks/frame.sh
[ "${frame_is_here:-}" = yes ] || . "$(dirname "$0")/frame.sh"
# shellcheck source=playbooks/kubeconfig.sh
[ "${kubeconfig_is_here:-}" = yes ] || . "$(dirname "$0")/kubeconfig.sh"
# shellcheck source=playbooks/static-pods.sh
[ "${static_pods_is_here:-}" = yes ] || . "$(dirname "$0")/static-pods.sh"
MOST=2097152
LONGEST=32000

# The separator before every column. It is random for each run, so that no message or annotation can contain it.
{ IFS= read -r separator </proc/sys/kernel/random/uuid && [ ${#separator} = 36 ]; } || { echo "cannot read /proc/sys/kernel/random/uuid" >&2 && exit 1; }

# One line per item, columns separated by tabs: newlines and tabs within a column become blanks. The last line is the status.
# shellcheck disable=SC2016
ROWS='
function finish() { if (item != "") { gsub(separator, "\t", item); print substr(item, 2) } }
function add(line) {
  if (index(line, separator) == 1) { finish(); item = line }
  else if (item != "" && line != "") item = item " " line
}
NR > 1 { add(last) }
{ gsub(/\t/, " "); last = $0 }
END { finish(); print ""; print last }'

# table NAME WHAT COLUMN…: a section with a table.
table() {
  section=$1 what=$2
  shift 2
  template=
  for column in "$@"; do template="$template{\"$separator\"}$column"; done
  # shellcheck disable=SC2086
  {
    limit 15 kubectl --kubeconfig "$config" --request-timeout=10s get $what \
      -o jsonpath="{range .items[*]}$template{\"\n\"}{end}" 2>/dev/null
    printf '\n%s\n' "$?"
  } | awk -v separator="$separator" "$ROWS" | framed "$section"
}

nodes() {
  table nodes nodes '{.metadata.name}' '{.metadata.labels}' '{.spec.taints}' '{.spec.unschedulable}' '{.spec.podCIDR}' \
    '{range .status.conditions[*]}{.type}={.status}:{.reason} {end}' '{.status.capacity}' '{.status.allocatable}' \
    '{.status.nodeInfo.kubeletVersion}' '{.status.nodeInfo.containerRuntimeVersion}' '{.status.nodeInfo.osImage}' \
    '{.status.nodeInfo.kernelVersion}' '{.status.addresses[?(@.type=="InternalIP")].address}' \
    '{.status.conditions[?(@.type=="Ready")].message}' \
    '{.metadata.annotations.gpuadm\.io/upgrade}' '{.metadata.annotations.gpuadm\.io/gpu-reset}'
}

readyz() { quiet readyz 15 kubectl --kubeconfig "$config" --request-timeout=10s get --raw '/readyz?verbose'; }
api_version() { quiet version 15 kubectl --kubeconfig "$config" --request-timeout=10s get --raw /version; }

# pods WHERE...: -A, or -n and a namespace.
pods() {
  table pods "$* pods" '{.metadata.namespace}' '{.metadata.name}' '{.metadata.ownerReferences[0].kind}' \
    '{.spec.nodeName}' '{.status.phase}' '{.spec.runtimeClassName}' '{.spec.containers[*].resources.limits}' \
    '{.status.initContainerStatuses[*].state.waiting.reason} {.status.containerStatuses[*].state.waiting.reason}' \
    '{.status.containerStatuses[*].restartCount}' '{.status.containerStatuses[*].lastState.terminated.reason}' \
    '{.spec.containers[*].env[?(@.name=="NVIDIA_VISIBLE_DEVICES")].value}' '{.status.reason}' \
    '{.status.initContainerStatuses[*].state.waiting.message}{.status.containerStatuses[*].state.waiting.message}{.status.containerStatuses[*].state.terminated.message}' \
    '{.status.conditions[?(@.type=="PodScheduled")].message}' \
    '{.status.containerStatuses[*].state.terminated.reason}' '{.status.conditions[?(@.type=="Ready")].status}'
}

# The logs of a namespace's pods.
pod_logs() {
  limit 15 kubectl --kubeconfig "$config" --request-timeout=10s -n "$1" get pods -o name 2>/dev/null | grep '^pod/[^ ]*$' |
    while read -r pod; do
      quiet "log/${pod#pod/}" 15 kubectl --kubeconfig "$config" --request-timeout=10s -n "$1" logs "$pod" --tail=64 </dev/null
    done
}

# The last log lines of the device plugin's pods, of at most eight pods.
plugin_log() {
  limit 15 kubectl --kubeconfig "$config" --request-timeout=10s get pods -A \
    -o jsonpath='{range .items[*]}{.metadata.namespace}{" "}{.metadata.name}{"\n"}{end}' 2>/dev/null |
    grep nvidia-device-plugin | head -n 8 |
    while read -r pod_namespace pod; do
      quiet "device-plugin-log/$pod" 15 kubectl --kubeconfig "$config" --request-timeout=10s -n "$pod_namespace" logs "$pod" \
        --tail=40 --all-containers </dev/null
    done
}

# The last lines of the pods of Kubernetes and of NVIDIA that are not ready, of at most eight. A pod that is Pending has some only if one of its
# init containers has been restarted. Of a container that waits for its next start, kubectl shows the log of the last one.
broken_pod_logs() {
  limit 15 kubectl --kubeconfig "$config" --request-timeout=10s get pods -A \
    -o jsonpath='{range .items[*]}{.metadata.namespace}{" "}{.metadata.name}{" "}{.status.phase}{" "}{.status.conditions[?(@.type=="Ready")].status}{" "}{.status.initContainerStatuses[*].restartCount}{"\n"}{end}' 2>/dev/null |
    awk '{ restarts = 0; for (i = 5; i <= NF; i++) restarts += $i }
      $3 != "Succeeded" && ($3 != "Pending" || restarts) && $4 != "True" && $2 !~ /nvidia-device-plugin/ &&
      ($1 ~ /^kube-(system|flannel)$|nvidia|gpu/ || $2 ~ /nvidia|dcgm|mps-control/) && n++ < 8 { print $1, $2 }' |
    while read -r pod_namespace pod; do
      text=$(limit 15 kubectl --kubeconfig "$config" --request-timeout=10s -n "$pod_namespace" logs "$pod" --tail=200 --all-containers </dev/null 2>/dev/null)
      status=$?
      frame "pod-log/$pod_namespace/$pod" "$(printf '%s\n' "$text" | last_lines 20 '')" "$status"
    done
}

# etcd_ask SERVER PATH: with the health check certificate.
etcd_ask() {
  printf '{}' | limit 4 kubectl --kubeconfig /dev/null --request-timeout=3s --server "$1" \
    --certificate-authority="$pki/ca.crt" --client-certificate="$pki/healthcheck-client.crt" \
    --client-key="$pki/healthcheck-client.key" create --raw "$2" -f - 2>/dev/null
}

# The members of etcd, and the status that each member reports.
etcd_members() {
  pki=/etc/kubernetes/pki/etcd
  [ -r "$pki/healthcheck-client.key" ] || return 0
  members=$(etcd_ask "$(etcd_url)" /v3/cluster/member/list)
  frame etcd-members "$members" "$?"
  for url in $(printf '%s\n' "$members" | tr '{' '\n' | sed -n 's/.*"clientURLs":\["\([^"]*\)".*/\1/p' | head -n 9); do
    answer=$(etcd_ask "$url" /v3/maintenance/status)
    frame "etcd-status/$url" "$answer" "$?"
  done
}

# Devices that are allocated by claims. Before v1 the attributes of a device are one level deeper.
devices() {
  groups=$(limit 15 kubectl --kubeconfig "$config" --request-timeout=10s get --raw /apis/resource.k8s.io 2>&1)
  frame resource-api "$groups" "$?"
  # Without the group, kubectl would read all groups again for each table.
  case $groups in *'(NotFound)'*) return ;; esac
  table deviceclasses deviceclasses.resource.k8s.io '{.metadata.name}' '{.spec.extendedResourceName}'
  table resourceslices resourceslices.resource.k8s.io '{.metadata.name}' '{.spec.driver}' '{.spec.nodeName}' \
    '{.spec.pool.name}' \
    '{range .spec.devices[*]}{.name}/{.attributes.type.string}{.basic.attributes.type.string}/{.attributes.uuid.string}{.basic.attributes.uuid.string}/{.attributes.parentUUID.string}{.basic.attributes.parentUUID.string} {end}'
  table devicetaintrules devicetaintrules.resource.k8s.io '{.metadata.name}' '{.metadata.labels.app\.kubernetes\.io/managed-by}' \
    '{.spec.deviceSelector}' '{.spec.taint.effect}'
  table resourceclaims "$everywhere resourceclaims.resource.k8s.io" '{.metadata.namespace}' '{.metadata.name}' \
    '{range .status.allocation.devices.results[*]}{.driver}/{.pool}/{.device}/{.adminAccess} {end}' \
    '{range .status.reservedFor[*]}{.resource}/{.name} {end}'
}

runtime_classes() { table runtimeclasses runtimeclasses '{.metadata.name}' '{.handler}'; }

# The quotas of namespaces: -A, or -n and a namespace.
quotas() { table quotas "$1 resourcequotas" '{.metadata.namespace}' '{.metadata.name}' '{.status.hard}' '{.status.used}'; }

# Each image of the pods' containers, with the number of containers.
images() {
  {
    limit 15 kubectl --kubeconfig "$config" --request-timeout=10s get pods -A \
      -o jsonpath='{range .items[*]}{.spec.initContainers[*].image} {.spec.containers[*].image}{"\n"}{end}' 2>/dev/null
    printf '\n%s\n' "$?"
  } | awk '
    NR > 1 { words = split(last, images, " "); for (i = 1; i <= words; i++) count[images[i]]++ }
    { last = $0 }
    END { for (image in count) print image "\t" count[image]; print ""; print last }' | framed images
}

# The storage classes, and claims of namespaces.
storage() {
  table storageclasses storageclasses '{.metadata.name}' '{.provisioner}' '{.volumeBindingMode}' \
    '{.metadata.annotations.storageclass\.kubernetes\.io/is-default-class}'
  table pvcs "$1 persistentvolumeclaims" '{.metadata.namespace}' '{.metadata.name}' '{.status.phase}' \
    '{.spec.storageClassName}' '{.metadata.annotations.volume\.kubernetes\.io/selected-node}' \
    '{.metadata.creationTimestamp}'
}

# Data for the doctor only.
the_rest() {
  table deployments '-A deployments' '{.metadata.namespace}' '{.metadata.name}' '{.spec.replicas}' \
    '{.status.availableReplicas}'
  runtime_classes
  table namespaces namespaces '{.metadata.name}' '{.metadata.labels.pod-security\.kubernetes\.io/enforce}'
  quotas -A
  images
  table webhooks validatingwebhookconfigurations,mutatingwebhookconfigurations '{.metadata.name}' \
    '{range .webhooks[*]}{.failurePolicy}/{.clientConfig.service.namespace}/{.clientConfig.service.name} {end}'
  table endpoints '-A endpoints' '{.metadata.namespace}/{.metadata.name}' '{.subsets[*].addresses[*].ip}'
  table apiservices apiservices '{.metadata.name}' '{.status.conditions[?(@.type=="Available")].status}' \
    '{.status.conditions[?(@.type=="Available")].message}'
  table events '-A events --field-selector type=Warning' '{.metadata.namespace}' '{.involvedObject.kind}' \
    '{.involvedObject.name}' '{.reason}' '{.count}' '{.message}'
  table clusterpolicies clusterpolicies.nvidia.com '{.metadata.name}' '{.status.state}' \
    '{.status.conditions[?(@.type=="Error")].message}'
  storage -A
  table csidrivers csidrivers '{.metadata.name}' '{.spec.attachRequired}'
  table csinodes csinodes '{.metadata.name}' '{.spec.drivers[*].name}'
  kept deprecated-apis '^apiserver_requested_deprecated_apis' \
    15 kubectl --kubeconfig "$config" --request-timeout=10s get --raw /metrics
  plugin_log
  broken_pod_logs
}

leases() { table leases '-n kube-node-lease leases' '{.metadata.name}' '{.spec.renewTime}'; }
daemonsets() {
  table daemonsets "$everywhere daemonsets" '{.metadata.namespace}' '{.metadata.name}' '{.status.desiredNumberScheduled}' \
    '{.status.numberReady}' '{.spec.template.spec.tolerations}'
}

# What is asked after the nodes.
of_nodes() {
  if [ "${purpose:-}" = pod ]; then together devices daemonsets leases; else together devices daemonsets "pods $everywhere" leases; fi
  case ${purpose:-} in
    status | pod) ;;
    dashboard) runtime_classes ;;
    *) the_rest ;;
  esac
}

everything() {
  export LC_ALL=C
  PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  echo 'gpuadm-probe 1'
  echo '=== clock'
  echo "| $(date +%s)"
  find_kubeconfig
  if [ -n "$config" ] && has kubectl && [ -n "${namespace:-}" ]; then
    pods "-n $namespace"
    [ "${logs:-no}" != yes ] || pod_logs "$namespace"
    echo '=== end'
    return
  fi
  if [ -n "$config" ] && has kubectl && [ "${purpose:-}" = workload ]; then
    nodes
    pods "$everywhere"
    [ -z "${client_namespace:-}" ] || { section pods-of && line "$client_namespace"; }
    runtime_classes
    devices
    echo '=== end'
    return
  fi
  if [ -n "$config" ] && has kubectl; then
    listed=$(together nodes api_version readyz)
    printf '%s\n' "$listed"
    # An API server that does not list nodes is not asked further: each question would take its whole time.
    ! succeeded "$listed" || of_nodes
    case ${purpose:-} in
      status | dashboard | upgrade) etcd_members ;;
      pod) the_pod ;;
    esac
  fi
  if [ "${purpose:-}" != pod ] && has curl && [ -e /etc/kubernetes/manifests/etcd.yaml ]; then
    kept etcd-metrics '^etcd_(server_has_leader|server_quota_backend_bytes|mvcc_db_total_size|server_leader_changes)' \
      7 curl -s -g -m 5 "$(etcd_metrics_url)/metrics"
  fi
  echo '=== end'
}

answer=$(sections everything </dev/null)
printf '%s\n' "$answer"
