# shellcheck shell=sh disable=SC2154,SC2016
# Functions for playbooks/cluster.sh with purpose=pod: what `gpuadm explain pod` reads of a pod, or of the pods of a notebook, a served
# model, a training job or a controller. The sections are described in docs/reference/cluster.md. Variables: pod_space, its namespace
# (empty: default, otherwise any); pod_name.

# The last lines and bytes of a log, and the number of containers whose logs are read. A launcher prints much after the error of the process
# that failed first.
log_lines=400 log_bytes=60000 most_logs=16

admin() { limit 15 kubectl --kubeconfig "$config" --request-timeout=10s "$@"; }

# All pods, with what they occupy.
pod_uses() {
  table pod-uses "$everywhere pods" '{.metadata.namespace}' '{.metadata.name}' '{.spec.nodeName}' '{.status.phase}' \
    '{.status.startTime}' '{.metadata.labels.gpuadm\.io/kind}' '{.metadata.labels.gpuadm\.io/name}' \
    '{.spec.containers[*].resources.requests}' '{.spec.initContainers[*].resources.requests}' \
    '{.status.conditions[?(@.type=="Ready")].status}' '{.status.containerStatuses[*].state.waiting.reason}'
}

# found WHAT KIND...: "WHAT namespace name" of objects with this name, or with this label of gpuadm.
found() {
  what=$1
  shift
  # shellcheck disable=SC2086
  admin get "$@" $where -o 'go-template={{range .items}}{{.kind}}{{"\t"}}{{.metadata.namespace}}{{"\t"}}{{.metadata.name}}{{"\n"}}{{end}}' 2>/dev/null |
    sed "s/^/$what	/"
}

# What the name means: "pod", "workload" or "controller", then kind, namespace and name. The first of them that exists counts.
targets() {
  if [ -n "$pod_space" ]; then where="-n $pod_space"; else where=$everywhere; fi
  rows=$(found pod pods --field-selector "metadata.name=$pod_name")
  [ -n "$rows" ] || rows=$(found workload pods,statefulsets,deployments,jobs -l "gpuadm.io/name=$pod_name,gpuadm.io/kind in (notebook,serve,train)")
  [ -n "$rows" ] || rows=$(found controller deployments,statefulsets,daemonsets,jobs,replicasets --field-selector "metadata.name=$pod_name")
  printf '%s\n' "$rows" | head -n 200
}

# The namespace of the target: the given one, "default", or the only one.
choose_namespace() {
  spaces=$(printf '%s\n' "$1" | cut -f 3 | sort -u)
  if printf '%s\n' "$spaces" | grep -qx default; then spaces=default; fi
  [ "$(printf '%s\n' "$spaces" | grep -c .)" = 1 ] && printf '%s\n' "$spaces"
}

# The label selector of a controller's pods.
selector_of() {
  admin -n "$namespace" get "$1" "$2" -o 'go-template={{range $key, $value := .spec.selector.matchLabels}}{{$key}}={{$value}},{{end}}' 2>/dev/null |
    sed 's/,$//'
}

# The words that select the target's pods.
pods_of() {
  case $1 in
    pod) printf '%s\n' "--field-selector=metadata.name=$pod_name" ;;
    workload) printf '%s\n' "--selector=gpuadm.io/name=$pod_name" ;;
    *)
      selector=$(selector_of "$2" "$pod_name")
      # An empty selector would select all pods, and no pod has the name "-".
      if [ -n "$selector" ]; then printf '%s\n' "--selector=$selector"; else printf '%s\n' '--field-selector=metadata.name=-'; fi
      ;;
  esac
}

# The pods as JSON. The annotation of kubectl apply can be longer than a line of a section.
pod_objects() {
  {
    admin -n "$namespace" get pods "$1" -o json 2>/dev/null
    printf '\n%s\n' "$?"
  } | sed 's|\("kubectl.kubernetes.io/last-applied-configuration": \)".*"\(,\{0,1\}\)$|\1""\2|' |
    framed pod-objects long=262144
}

# "pod container restarts" of containers that ended with an error, wait, or were restarted; init containers first.
troubled() {
  admin -n "$namespace" get pods "$1" -o 'go-template={{range .items}}{{$pod := .metadata.name}}{{range .status.initContainerStatuses}}{{$pod}} {{.name}} {{.restartCount}} {{.ready}}{{with .state.terminated}} {{.exitCode}}{{end}}{{"\n"}}{{end}}{{range .status.containerStatuses}}{{$pod}} {{.name}} {{.restartCount}} {{.ready}}{{with .state.terminated}} {{.exitCode}}{{end}}{{"\n"}}{{end}}{{end}}' 2>/dev/null |
    awk '$5 != "0" && ($3 > 0 || $4 != "true" || $5 != "") { print $1, $2, $3 }' | head -n "$most_logs"
}

# log_of SECTION OPTION...: the end of a container's log. kubectl's own limit keeps the beginning.
log_of() {
  section=$1
  shift
  {
    limit 15 kubectl --kubeconfig "$config" --request-timeout=10s -n "$namespace" logs "$@" --tail="$log_lines" \
      --limit-bytes=8388608 </dev/null 2>/dev/null
    printf '\n%s\n' "$?"
  } | tail -c "$log_bytes" | framed "$section"
}

pod_logs_of() {
  troubled "$1" | while read -r pod container restarts; do
    log_of "log/$pod/$container" "$pod" -c "$container"
    [ "$restarts" = 0 ] || log_of "previous-log/$pod/$container" "$pod" -c "$container" --previous
  done
}

# What the pods depend on, in their namespace.
around() {
  table pod-owners "-n $namespace deployments,statefulsets,daemonsets,replicasets,jobs,cronjobs" '{.kind}' '{.metadata.name}' \
    '{.metadata.ownerReferences[0].kind}' '{.metadata.ownerReferences[0].name}' '{.metadata.labels.gpuadm\.io/name}' \
    '{.spec.replicas}{.spec.parallelism}' '{range .status.conditions[*]}{.type}={.status}:{.reason}:{.message};;{end}' \
    '{.metadata.creationTimestamp}' '{.spec.suspend}' '{.metadata.labels.gpuadm\.io/kind}' \
    '{.metadata.labels.kueue\.x-k8s\.io/queue-name}'
  table pod-events "-n $namespace events" '{.involvedObject.kind}' '{.involvedObject.name}' '{.type}' '{.reason}' '{.count}' \
    '{.firstTimestamp}' '{.lastTimestamp}' '{.eventTime}' '{.message}'
  quotas "-n $namespace"
  storage "-n $namespace"
  table pod-volumes persistentvolumes '{.metadata.name}' '{.status.phase}' '{.spec.claimRef.namespace}/{.spec.claimRef.name}' \
    '{.spec.storageClassName}' '{.spec.hostPath.path}{.spec.local.path}' '{.spec.nfs.server}:{.spec.nfs.path}' \
    '{.spec.nodeAffinity.required.nodeSelectorTerms}'
  table pod-claims "-n $namespace persistentvolumeclaims" '{.metadata.name}' '{.spec.volumeName}' '{.spec.resources.requests.storage}'
}

the_pod() {
  pod_uses
  runtime_classes
  table namespaces namespaces '{.metadata.name}' '{.metadata.labels.pod-security\.kubernetes\.io/enforce}'
  rows=$(targets)
  frame pod-targets "$rows" 0
  namespace=$(choose_namespace "$rows") || return 0
  first=$(printf '%s\n' "$rows" | awk -F '\t' -v namespace="$namespace" '$3 == namespace { print $1, $2; exit }')
  which=$(pods_of "${first%% *}" "${first##* }")
  echo "=== pod-space"
  line "$namespace"
  pod_objects "$which"
  around
  pod_logs_of "$which"
}
