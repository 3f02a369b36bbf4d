# shellcheck shell=sh disable=SC2154
# Functions for the steps of playbooks/gpu/offered.yaml, which run on a control plane. Loaded after prelude.sh. After NVIDIA's device plugin on
# a node was replaced, the kubelet refuses pods that the scheduler still assigns to it (UnexpectedAdmissionError). GPUs of a node are ready if
#   the plugin's only pod on it has the current template of its DaemonSet and runs, and with MPS also the control daemon;
#   the node advertises its GPUs, times replicas (its capacity, which includes unhealthy GPUs, and at least one that is allocatable), or the
#   DRA driver publishes devices of it;
#   a pod with a GPU has started since the plugin's pod has.
# $gpu_nodes has a line for each host with GPUs: "HOST NODE LAYOUT RESOURCE=COUNT,…", or "HOST NODE dra:ROOT CLASS" with a DeviceClass.
# $gpu_hosts: those of these hosts that are waited for; empty: all.

offered_space=kube-system
offered_labels='app.kubernetes.io/name in (nvidia-device-plugin,nvidia-mps-control-daemon,nvidia-dra-driver)'
# The annotation of a node: the plugin's pod, and the kubelet, runtime and boot, with which a pod with a GPU has started.
offered_key=gpuadm.io/gpu-pod-started
offered_full_after=20 # seconds: a kubelet reports the state of its node every 10 s

offered_kubectl() { kube --kubeconfig /etc/kubernetes/admin.conf --request-timeout=15s "$@"; }

# offered_nodes: "NODE LAYOUT RESOURCE=COUNT,…" of the hosts that are waited for.
offered_nodes() {
  printf '%s\n' "$gpu_nodes" | hosts=" $gpu_hosts " awk 'NF == 4 && (ENVIRON["hosts"] ~ /^ *$/ || index(ENVIRON["hosts"], " " $1 " ")) { print $2, $3, $4 }'
}

# --- What the cluster says: rows whose columns are separated by tabs. Texts of nodes and kubelets are quoted, and cannot forge a row. ------
#   daemonset NAME GENERATION OBSERVED
#   revision DAEMONSET NUMBER HASH
#   pod NAME DAEMONSET NODE HASH DELETED READY UID CONTAINER STARTED IMAGE RUNTIME-CLASS APP
#   node NAME READY VERSIONS RECORD RESOURCE=ALLOCATABLE… RESOURCE=CAPACITY…
#   slice NODE DEVICES

# shellcheck disable=SC2016 # a template
offered_template='go-template={{range .items}}{{$name := .metadata.name}}{{$owner := ""}}{{range .metadata.ownerReferences}}{{if eq .kind "DaemonSet"}}{{$owner = .name}}{{end}}{{end}}{{if eq .kind "DaemonSet"}}daemonset{{"\t"}}{{$name}}{{"\t"}}{{.metadata.generation}}{{"\t"}}{{with .status.observedGeneration}}{{.}}{{end}}{{"\n"}}{{end}}{{if eq .kind "ControllerRevision"}}revision{{"\t"}}{{$owner}}{{"\t"}}{{.revision}}{{"\t"}}{{index .metadata.labels "controller-revision-hash"}}{{"\n"}}{{end}}{{if eq .kind "Pod"}}pod{{"\t"}}{{$name}}{{"\t"}}{{$owner}}{{"\t"}}{{with .spec.nodeName}}{{.}}{{end}}{{"\t"}}{{with index .metadata.labels "controller-revision-hash"}}{{.}}{{end}}{{"\t"}}{{with .metadata.deletionTimestamp}}{{.}}{{end}}{{"\t"}}{{range .status.conditions}}{{if eq .type "Ready"}}{{printf "%q" .status}}{{end}}{{end}}{{"\t"}}{{.metadata.uid}}{{"\t"}}{{range .status.containerStatuses}}{{with .containerID}}{{printf "%q" .}}{{end}}{{end}}{{"\t"}}{{range .status.containerStatuses}}{{with .state.running}}{{printf "%q" .startedAt}}{{end}}{{end}}{{"\t"}}{{range .spec.containers}}{{printf "%q" .image}}{{end}}{{"\t"}}{{with .spec.runtimeClassName}}{{.}}{{end}}{{"\t"}}{{index .metadata.labels "app.kubernetes.io/name"}}{{"\n"}}{{end}}{{end}}'
# shellcheck disable=SC2016
offered_node_template='go-template={{range .items}}node{{"\t"}}{{.metadata.name}}{{"\t"}}{{range .status.conditions}}{{if eq .type "Ready"}}{{printf "%q" .status}}{{end}}{{end}}{{"\t"}}{{with .status.nodeInfo}}{{printf "%q/%q/%q" .kubeletVersion .containerRuntimeVersion .bootID}}{{end}}{{"\t"}}{{with .metadata.annotations}}{{with index . "gpuadm.io/gpu-pod-started"}}{{printf "%q" .}}{{end}}{{end}}{{"\t"}}{{range $resource, $count := .status.allocatable}}{{printf "%q" $resource}}={{printf "%q" $count}} {{end}}{{"\t"}}{{range $resource, $count := .status.capacity}}{{printf "%q" $resource}}={{printf "%q" $count}} {{end}}{{"\n"}}{{end}}'
# shellcheck disable=SC2016
offered_slice_template='go-template={{range .items}}{{if eq .spec.driver "gpu.nvidia.com"}}slice{{"\t"}}{{with .spec.nodeName}}{{.}}{{end}}{{"\t"}}{{len .spec.devices}}{{"\n"}}{{end}}{{end}}'

offered_rows() {
  offered_kubectl -n "$offered_space" get daemonsets.apps,controllerrevisions.apps,pods -l "$offered_labels" -o "$offered_template" || return 1
  offered_kubectl get nodes -o "$offered_node_template" || return 1
  ! printf '%s\n' "$gpu_nodes" | grep -q ' dra:' || offered_kubectl get resourceslices.resource.k8s.io -o "$offered_slice_template" || return 1
}

# offered_judge WHAT: of rows on stdin and the nodes of offered_nodes:
#   unready    "NODE: REASON" for each node whose plugin or number of GPUs is not yet as it is to be
#   unstarted  "NODE LAYOUT WANTED RECORD STARTED IMAGE RUNTIME-CLASS UNREADY" for each node on which no pod with a GPU is recorded for the
#              current pod of its plugin; "-": empty, or that pod does not run yet; UNREADY: yes, or no
offered_judge() {
  wanted=$(offered_nodes) what=$1 awk -F '\t' '
    function plain(text) { gsub(/["\\ ]/, "", text); return text }
    function bad(text) { if (why[node] == "") why[node] = text }
    # The pods of one application on the node: only one of the DaemonSet, with its current template.
    function inspect(app, daemonset,    i, found) {
      if (!daemonsets) return
      for (i = 1; i <= pods; i++) {
        if (app_of[i] != app || node_of[i] != node) continue
        if (owner_of[i] != daemonset || deleted[i] != "") { bad("the previous pod " name_of[i] " has not ended yet"); continue }
        if (hash_of[i] != newest[daemonset]) { bad("the pod " name_of[i] " has the previous template of " daemonset); continue }
        found = i
      }
      if (daemonset == "") return
      if (!(daemonset in generation)) bad("the DaemonSet " daemonset " does not exist")
      else if (generation[daemonset] != observed[daemonset]) bad("the DaemonSet " daemonset " has changed, and the controller manager has not processed that yet")
      else if (!found) bad("there is no pod of " daemonset " yet")
      else if (ready[found] != "True") bad("the pod " name_of[found] " is not ready")
      if (app != "nvidia-mps-control-daemon") current[node] = found
    }
    $1 == "daemonset" { daemonsets++; generation[$2] = $3; observed[$2] = $4 }
    $1 == "revision" && (!($2 in number) || $3 + 0 > number[$2]) { number[$2] = $3 + 0; newest[$2] = $4 }
    $1 == "pod" {
      pods++
      name_of[pods] = $2; owner_of[pods] = $3; node_of[pods] = $4; hash_of[pods] = $5; deleted[pods] = $6; ready[pods] = plain($7)
      key_of[pods] = $8 "/" plain($9); started[pods] = plain($10); image[pods] = plain($11); class[pods] = $12; app_of[pods] = $13
    }
    $1 == "node" {
      known[$2] = 1; versions[$2] = plain($4); record[$2] = plain($5)
      n = split($6, entry, " ")
      for (i = 1; i <= n; i++) { split(plain(entry[i]), part, "="); offers[$2, part[1]] = part[2] }
      n = split($7, entry, " ")
      for (i = 1; i <= n; i++) { split(plain(entry[i]), part, "="); has[$2, part[1]] = part[2] }
    }
    $1 == "slice" { devices[$2] += $3 }
    END {
      lines = split(ENVIRON["wanted"], line, "\n")
      for (l = 1; l <= lines; l++) {
        if (split(line[l], word, " ") != 3) continue
        node = word[1]; layout = word[2]
        if (!(node in known)) bad("the cluster has no such node")
        if (word[3] ~ /=0(,|$)/) bad("nvidia-smi lists no GPU for pods")
        dra = layout ~ /^dra:/
        tail = layout == "exclusive" ? "" : "-" layout
        inspect("nvidia-device-plugin", dra ? "" : "nvidia-device-plugin" tail)
        inspect("nvidia-mps-control-daemon", layout ~ /(^|-)mps-[0-9]/ ? "nvidia-mps-control-daemon" tail : "")
        inspect("nvidia-dra-driver", dra ? "nvidia-dra-driver-" substr(layout, 5) : "")
        if (dra) { if (devices[node] < 1) bad("the DRA driver has published no device of it") }
        else {
          n = split(word[3], entry, ",")
          for (i = 1; i <= n; i++) {
            split(entry[i], part, "=")
            # Another device plugin may have renamed a shared resource.
            resource = has[node, part[1]] + 0 ? part[1] : part[1] ".shared"
            now = offers[node, resource] + 0 ? has[node, resource] + 0 : 0
            if (now != part[2] + 0) bad("it advertises " now " of " part[2] " " part[1])
          }
        }
        # A plugin of the operator: only its count is known.
        if (ENVIRON["what"] != "unready" && !daemonsets) continue
        if (ENVIRON["what"] == "unready") { if (why[node] != "") print node ": " why[node]; continue }
        pod = current[node]
        key = pod ? key_of[pod] "/" versions[node] : "-"
        if (pod && key == record[node] && started[pod] != "") continue
        print node, layout, word[3], key, (pod && started[pod] != "" ? started[pod] : "-"), (pod ? image[pod] : "-"), (pod && class[pod] != "" ? class[pod] : "-"), (why[node] == "" ? "no" : "yes")
      }
    }'
}

# For the wait: satisfied, or the reason for each node. Ends the wait if a pod of the plugin cannot become ready.
offered_check() {
  [ -f /etc/kubernetes/admin.conf ] || return 1
  offered_said=$(offered_rows) && [ -n "$offered_said" ] || return 1
  offered_open=$(printf '%s\n' "$offered_said" | offered_judge unready)
  [ -n "$offered_open" ] || return 0
  case $offered_open in *': nvidia-smi lists no GPU'*) wait_is_hopeless "$offered_open. Run gpuadm doctor" ;; esac
  for offered_node in $(printf '%s\n' "$offered_open" | sed -n 's/^\([^:]*\): the pod .*/\1/p' | head -n 3); do
    pods_unready "$offered_space" -l "$offered_labels" --field-selector "spec.nodeName=$offered_node" || : "the API server does not answer"
  done
  printf '%s\n' "$offered_open"
  return 1
}

# --- The pod ---------------------------------------------------------------------------------------------

# offered_pod_name NODE
offered_pod_name() { printf 'gpuadm-gpu-%s\n' "$(printf %s "$1" | sha256sum | cut -c1-10)"; }

# offered_pod NODE LAYOUT WANTED IMAGE RUNTIME-CLASS: a pod that requests a GPU or a share and only prints the version of the plugin, whose
# image the node has. It waits for the scheduler like every pod, so that it takes no GPU from another one; cordoned nodes accept it.
offered_pod() {
  case $1$2$3$4$5 in *[!A-Za-z0-9./:@_,=+-]*) die "the pod of the device plugin on $1 has an unexpected image or runtime class" ;; esac
  offered_name=$(offered_pod_name "$1")
  offered_class=
  [ "$5" = - ] || offered_class="\"runtimeClassName\":\"$5\","
  offered_claims='' offered_command='"args":["--version"]'
  offered_resource=$(printf '%s\n' "${3%%,*}" | cut -d= -f1)
  offered_resources="\"limits\":{\"$offered_resource\":\"1\"}"
  case $2 in dra:*)
    offered_claims="\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"$offered_name\"}],"
    offered_command='"command":["gpu-kubelet-plugin","--version"]'
    offered_resources='"claims":[{"name":"gpu"}]'
    printf '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"%s","namespace":"%s","labels":{"gpuadm.io/gpu-start":"true"}},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"%s"}}]}}}\n' \
      "$offered_name" "$offered_space" "$3"
    ;;
  esac
  printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"%s","labels":{"app.kubernetes.io/managed-by":"gpuadm","gpuadm.io/gpu-start":"true"}},"spec":{"restartPolicy":"Never",%s"activeDeadlineSeconds":600,"terminationGracePeriodSeconds":1,"automountServiceAccountToken":false,"enableServiceLinks":false,"tolerations":[{"operator":"Exists"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["%s"]}]}]}}},"securityContext":{"runAsNonRoot":true,"runAsUser":65534,"seccompProfile":{"type":"RuntimeDefault"}},%s"containers":[{"name":"gpu","image":"%s","imagePullPolicy":"IfNotPresent",%s,"resources":{%s},"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}\n' \
    "$offered_name" "$offered_space" "$offered_class" "$1" "$offered_claims" "$4" "$offered_command" "$offered_resources"
}

# offered_pods NODE: "pod NAMESPACE/NAME PHASE REASON DELETED BEGAN STARTED REQUESTS WHY" of its pods with GPUs, and of the pod above.
# shellcheck disable=SC2016 # a template
offered_pod_template='go-template={{range .items}}pod{{"\t"}}{{.metadata.namespace}}/{{.metadata.name}}{{"\t"}}{{with .status.phase}}{{printf "%q" .}}{{end}}{{"\t"}}{{with .status.reason}}{{printf "%q" .}}{{end}}{{"\t"}}{{with .metadata.deletionTimestamp}}{{.}}{{end}}{{"\t"}}{{with .status.startTime}}{{printf "%q" .}}{{end}}{{"\t"}}{{range .status.containerStatuses}}{{with .state.running}}{{printf "%q " .startedAt}}{{end}}{{with .state.terminated}}{{if ne .reason "StartError"}}{{if ne .reason "ContainerCannotRun"}}{{printf "%q " .startedAt}}{{end}}{{end}}{{end}}{{end}}{{"\t"}}{{range .spec.containers}}{{range $resource, $count := .resources.limits}}{{$resource}}={{$count}} {{end}}{{end}}{{with .spec.resourceClaims}}claim=1 {{end}}{{"\t"}}{{with .status.message}}{{printf "%q " .}}{{end}}{{range .status.conditions}}{{if eq .type "PodScheduled"}}{{with .message}}{{printf "%q " .}}{{end}}{{end}}{{end}}{{range .status.containerStatuses}}{{with .state.waiting}}{{printf "%q " .reason}}{{with .message}}{{printf "%q " .}}{{end}}{{end}}{{with .state.terminated}}{{printf "%q " .reason}}{{with .message}}{{printf "%q " .}}{{end}}{{end}}{{end}}{{"\n"}}{{end}}'
offered_pods() {
  offered_kubectl get pods -A --field-selector "spec.nodeName=$1" -o "$offered_pod_template" || return 1
  # Until it is scheduled, the pod has no node.
  offered_kubectl -n "$offered_space" get pods -l gpuadm.io/gpu-start --field-selector "spec.nodeName=,metadata.name=$(offered_pod_name "$1")" -o "$offered_pod_template"
}

# offered_state NAME WANTED STARTED: of the rows of offered_pods on stdin: "started" if a pod with a GPU has started since STARTED, or "absent",
# "refused", "failed" or "waits" for the pod NAME, and what is said of it; "full" after "waits" if other pods have all GPUs. Times are of
# one clock, the node's, and are compared as text: RFC 3339 in UTC.
offered_state() {
  name=$1 wanted=$2 since=$3 awk -F '\t' '
    function plain(text) { gsub(/["\\]/, "", text); return text }
    $1 != "pod" || NF != 9 { next }
    { phase = plain($3); own = $2 == ENVIRON["name"]; gpus = 0 }
    {
      n = split($8, request, " ")
      for (i = 1; i <= n; i++) {
        split(request[i], part, "=")
        if (index("," ENVIRON["wanted"], "," part[1] "=") || part[1] == "claim" && ENVIRON["wanted"] !~ /=/) { gpus = 1; if (!own && phase != "Succeeded" && phase != "Failed") used[part[1]] += part[2] }
      }
      n = split(plain($7), began, " ")
      late = 0
      for (i = 1; i <= n; i++) if (began[i] >= ENVIRON["since"]) late = 1
      if (gpus && late && plain($6) >= ENVIRON["since"]) started = 1
      if (own) { there = $5 == "" ? phase : "ending"; reason = plain($4); message = plain($9) }
    }
    END {
      if (started) { print "started"; exit }
      n = split(ENVIRON["wanted"], entry, ",")
      full = n > 0
      for (i = 1; i <= n; i++) { split(entry[i], part, "="); if (part[2] == "" || used[part[1]] + 0 < part[2] + 0) full = 0 }
      gsub(/[ \t]+$/, "", message)
      if (there == "") print "absent"
      else if (there == "Succeeded") print "failed it has completed before the device plugin was replaced"
      else if (there == "Failed") print (reason != "" ? "refused " reason ": " : "failed ") message
      else print "waits " (full ? "full " : "") (there == "ending" ? "the previous pod has not ended yet" : message)
    }'
}

# offered_record NODE RECORD
offered_record() { offered_kubectl annotate --overwrite node "$1" "$offered_key=$2" >/dev/null; }

# offered_delete NODE
offered_delete() {
  for offered_kind in pod resourceclaims.resource.k8s.io; do
    offered_kubectl -n "$offered_space" delete "$offered_kind" -l gpuadm.io/gpu-start --field-selector "metadata.name=$(offered_pod_name "$1")" \
      --grace-period=1 --wait=false >/dev/null 2>&1 || : "resource.k8s.io is not served"
  done
}
# offered_clean: deletes the pods, and waits until their GPUs are free: until the kubelet has confirmed their end, a scheduler counts them.
offered_clean() {
  for offered_node in $(offered_nodes | cut -d' ' -f1); do offered_delete "$offered_node"; done
  offered_began=$(uptime_seconds)
  until offered_left=$(offered_kubectl -n "$offered_space" get pods -l gpuadm.io/gpu-start -o name) && [ -z "$offered_left" ]; do
    [ $(($(uptime_seconds) - offered_began)) -lt 60 ] || {
      say "not deleted within 60 s: ${offered_left:-the API server does not list pods}"
      return 0
    }
    sleep 1
  done
}

# offered_unstarted: the nodes on which no pod with a GPU has started, as offered_judge prints them. Fails if that cannot be read.
offered_unstarted() {
  offered_said=$(offered_rows) && [ -n "$offered_said" ] || return 1
  printf '%s\n' "$offered_said" | offered_judge unstarted
}

offered_is_started() {
  [ -f /etc/kubernetes/admin.conf ] || return 1
  offered_left=$(offered_unstarted) || {
    say "the API server does not answer"
    exit 3
  }
  [ -z "$offered_left" ]
}

# offered_start_one NODE LAYOUT WANTED RECORD STARTED IMAGE RUNTIME-CLASS UNREADY: one attempt; prints what is waited for.
offered_start_one() {
  if [ "$8" != no ] || [ "$5" = - ]; then
    echo "$1: the device plugin is not ready"
    return 0
  fi
  offered_seen=$(offered_pods "$1") || {
    echo "$1: the API server does not list its pods"
    return 0
  }
  offered_is=$(printf '%s\n' "$offered_seen" | offered_state "$offered_space/$(offered_pod_name "$1")" "$3" "$5")
  case $offered_is in
    started) offered_record "$1" "$4" && return 0 ;;
    'waits full '*)
      # Other pods have all of its GPUs: none can be refused.
      if [ "$offered_waited" -ge "$offered_full_after" ]; then offered_record "$1" "$4" && return 0; fi
      ;;
    absent)
      offered_objects=$(offered_pod "$1" "$2" "$3" "$6" "$7") || exit 3
      offered_is=$(printf '%s\n' "$offered_objects" | offered_kubectl create --validate=false -f - 2>&1 >/dev/null | tail -n 1)
      offered_is=${offered_is:-is created}
      ;;
    refused\ * | failed\ *) offered_delete "$1" ;;
  esac
  echo "$1: a pod with a GPU $offered_is"
}

# Until a pod with a GPU has started on every node, for at most 240 s.
offered_start() {
  export request_again=0 # this loop repeats
  offered_began=$(uptime_seconds)
  while :; do
    offered_waited=$(($(uptime_seconds) - offered_began))
    offered_why="the API server does not answer"
    if offered_left=$(offered_unstarted); then
      [ -n "$offered_left" ] || return 0
      offered_why=$(printf '%s\n' "$offered_left" | while read -r node layout wanted record started image class unready; do
        offered_start_one "$node" "$layout" "$wanted" "$record" "$started" "$image" "$class" "$unready" </dev/null
      done) || exit 3
      [ -n "$offered_why" ] || continue
    fi
    [ "$offered_waited" -lt 240 ] || {
      say "$offered_why"
      die "no pod with a GPU starts within 240 s: run kubectl -n kube-system logs -l app.kubernetes.io/name=nvidia-device-plugin, and gpuadm verify"
    }
    sleep 1
  done
}
