# shellcheck shell=sh disable=SC2154,SC2034
# The network test: on every node a pod of gpuadm-proof, and in each pod a program that connects to the pods on other nodes, to the
# API server through its Service, and to the cluster's DNS. The program runs by `kubectl exec`, which requires the kubelet but no
# pod network. `gpuadm init`, `apply`, `join`, `upgrade` and `verify` run it on a control plane; its output is judged in C++
# (src/checks/chain/network.cpp). Loaded after prelude.sh and verify.sh.
#
# The result, columns apart by tabs:
#   node NAME ADDRESS POD-CIDR READY MESSAGE CREATED     READY is empty where the cluster has no such node
#   pod NODE PHASE POD-ADDRESS NAME TROUBLE
#   said NODE JSON                               a line of gpuadm-proof --network
#   exec NODE TEXT                               no program could be run in the pod
#   dns absent                                   the cluster has no DNS Service
#   end

proof_image=gpuadm.local/proof:1 # proof/make-image
proof_known=$gpuadm_home/network-proof
proof_result() { printf '%s/network-proof-%s' "$gpuadm_lock" "$gpuadm_run"; }

# proof_selected FILE: the rows whose second column is one of $node_names, and an empty row for a name without one.
proof_selected() {
  names=$node_names awk -F '\t' '
    BEGIN { count = split(ENVIRON["names"], name, /[ \n]+/); for (i = 1; i <= count; ++i) if (name[i] != "") wanted[name[i]] = 1 }
    $2 in wanted { print; seen[$2] = 1 }
    END { for (i = 1; i <= count; ++i) if ((name[i] in wanted) && !(name[i] in seen)) print "node\t" name[i] "\t\t\t\t" }' "$1"
}

# proof_identities: for every node, the values whose change requires a new test.
proof_identities() {
  if cluster_says api; then
    cluster_lines identity | sed "s/^/node$gpuadm_tab/"
    return
  fi
  verify_cluster get nodes -o 'jsonpath={range .items[*]}node{"\t"}{.metadata.name}{"\t"}{.metadata.uid}{"\t"}{.status.nodeInfo.bootID}{"\t"}{.status.nodeInfo.kubeletVersion}{"\t"}{.spec.podCIDR}{"\n"}{end}'
}
proof_current() {
  proof_said=$(proof_identities) || return 1
  printf '%s\n' "$proof_said" | proof_selected -
}
# Whether all of these nodes were tested together, and none of them was created, rebooted or upgraded since.
proof_is_known() {
  [ -s "$proof_known" ] && proof_lines=$(proof_current) && [ -n "$proof_lines" ] || return 1
  ! printf '%s\n' "$proof_lines" | grep -vxF -f "$proof_known" >/dev/null
}
proof_record() {
  content="$(proof_current)$gpuadm_newline"
  file_put "$proof_known" 0644
}

proof_pod() { # proof_pod NUMBER NODE
  cat <<END
---
apiVersion: v1
kind: Pod
metadata: { name: "network-$1", namespace: $verify_space }
spec:
  nodeName: "$2"
  restartPolicy: Never
  activeDeadlineSeconds: 900
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
  enableServiceLinks: false
  tolerations: [{ operator: Exists }]
  securityContext: { runAsNonRoot: true, runAsUser: 65534, seccompProfile: { type: RuntimeDefault } }
  containers:
    - name: proof
      image: $proof_image
      imagePullPolicy: Never
      command: ["/gpuadm-proof", "--network", "--listen", "900"]
      resources: { requests: { cpu: 1m, memory: 4Mi } }
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
END
}

# Whether the nodes could be read and no node that joined in the last two minutes is still to become Ready. A node that is older is not
# awaited.
proof_nodes_are_settled() {
  verify_cluster get nodes -o 'jsonpath={range .items[*]}node{"\t"}{.metadata.name}{"\t"}{.status.addresses[?(@.type=="InternalIP")].address}{"\t"}{.spec.podCIDR}{"\t"}{.status.conditions[?(@.type=="Ready")].status}{"\t"}{.status.conditions[?(@.type=="Ready")].message}{"\t"}{.metadata.creationTimestamp}{"\n"}{end}' \
    >"$proof_dir/all-nodes" || return 1
  proof_selected "$proof_dir/all-nodes" >"$proof_dir/nodes"
  proof_new=$(date -u -d "@$(($(date +%s) - 120))" +%Y-%m-%dT%H:%M:%SZ)
  since=$proof_new awk -F '\t' '$1 == "node" && $5 != "True" && $7 > ENVIRON["since"] { open = 1 } END { exit open }' "$proof_dir/nodes"
}

# One pod for each node that is Ready.
proof_make_pods() {
  awk -F '\t' '$1 == "node" && $5 == "True" { print number++ " " $2 }' "$proof_dir/nodes" |
    while read -r number node; do proof_pod "$number" "$node"; done >"$proof_dir/pods.yaml"
  [ ! -s "$proof_dir/pods.yaml" ] || (request_again=0 && verify_kubectl create --validate=false -f "$proof_dir/pods.yaml" >/dev/null)
}

# Every pod runs and has an address, or has failed permanently.
proof_pods_are_settled() {
  verify_kubectl get pods -o 'jsonpath={range .items[*]}pod{"\t"}{.spec.nodeName}{"\t"}{.status.phase}{"\t"}{.status.podIP}{"\t"}{.metadata.name}{"\t"}{.status.reason} {.status.message} {.status.containerStatuses[*].state.waiting.reason} {.status.containerStatuses[*].state.waiting.message}{"\n"}{end}' \
    >"$proof_dir/pods" || return 1
  [ -z "$(proof_unsettled)" ]
}
proof_unsettled() {
  awk -F '\t' '$1 == "pod" && !($3 == "Running" && $4 != "") && $3 != "Failed" && $3 != "Succeeded" &&
    $6 !~ /ErrImageNeverPull|ImageInspectError|InvalidImageName|CreateContainerError|CreateContainerConfigError|RunContainerError/ { print $5 }' "$proof_dir/pods"
}
# Adds the newest warning event of pods that do not start: the error of the container runtime or the network plugin.
proof_add_events() {
  proof_unsettled | head -n 20 | while read -r pod; do
    said=$(verify_kubectl get events --field-selector "involvedObject.name=$pod,type=Warning" -o 'jsonpath={range .items[*]}{.reason}: {.message}{"\n"}{end}' </dev/null | tail -n 1)
    [ -z "$said" ] || pod=$pod said=$said awk -F '\t' '
      $1 == "pod" && $5 == ENVIRON["pod"] { $6 = ENVIRON["said"] } { print }' OFS='\t' "$proof_dir/pods" >"$proof_dir/pods.new"
    [ -z "$said" ] || mv "$proof_dir/pods.new" "$proof_dir/pods"
  done
}

# proof_exec POD NODE PEERS: the kubelet may not yet find the container of a pod that runs; it is then tried again, at most for 15 s.
proof_exec() {
  proof_until=$(($(uptime_seconds) + 15))
  until proof_exec_once "$@" || [ "$(uptime_seconds)" -ge "$proof_until" ]; do sleep 1; done
}
# Fails if that may pass.
proof_exec_once() {
  set -- "$1" "$2" "$3" "$proof_dir/$1"
  # shellcheck disable=SC2086 # nothing, or an option and its value
  timeout 60 kubectl --kubeconfig /etc/kubernetes/admin.conf -n "$verify_space" exec "$1" -- /gpuadm-proof --network \
    ${3:+--peers $3} $proof_dns --api --deadline 30 </dev/null >"$4.out" 2>"$4.err" || : "its lines say what failed"
  head -c 262144 "$4.out" | node=$2 awk '/^\{/ { print "said\t" ENVIRON["node"] "\t" $0; found = 1 } END { exit !found }' >"$4.said" ||
    printf 'exec\t%s\t%s\n' "$2" "$(tail -n 1 "$4.err" | head -c 1000)" >"$4.said"
  ! grep -q 'unable to upgrade connection: container not found' "$4.err"
}

# Up to eight pods are tested in all pairs; with more, each pod connects to the next one.
proof_exec_all() {
  proof_dns='--dns kubernetes.default'
  services=$(object_names verify_cluster -n kube-system get services -l k8s-app=kube-dns)
  [ -n "$services" ] || proof_dns=
  awk -F '\t' 'BEGIN { count = 0 } $1 == "pod" && $3 == "Running" && $4 != "" { name[count] = $5; node[count] = $2; address[count++] = $4 }
    END {
      for (i = 0; i < count; ++i) {
        peers = ""
        for (j = 1; j < count && (count <= 8 || j == 1); ++j) peers = peers (peers == "" ? "" : ",") address[(i + j) % count]
        print name[i] " " node[i] " " peers
      }
    }' "$proof_dir/pods" >"$proof_dir/running"
  number=0
  while read -r pod node peers; do
    proof_exec "$pod" "$node" "$peers" &
    number=$((number + 1))
    [ $((number % 8)) -ne 0 ] || wait
  done <"$proof_dir/running"
  wait
}

proof_run() {
  proof_dir=$gpuadm_lock/network-proof.d
  rm -rf "$proof_dir"
  mkdir -p "$proof_dir"
  if [ "$network_proof" != always ]; then
    file_remove "$proof_known"
  fi
  verify_space_make >/dev/null
  # A node that is still not Ready then gets no pod, and the result says so.
  in_time 120 proof_nodes_are_settled || [ -f "$proof_dir/nodes" ] || die "the API server does not return the nodes within 120 s"
  proof_make_pods
  in_time 120 proof_pods_are_settled || proof_add_events
  proof_exec_all
  {
    cat "$proof_dir/nodes" "$proof_dir/pods"
    find "$proof_dir" -name '*.said' -exec cat {} +
    [ -n "$proof_dns" ] || printf 'dns\tabsent\n'
    echo end
  } >"$proof_dir/result"
  mv "$proof_dir/result" "$(proof_result)"
}

# Pods are deleted immediately, because a drain would wait for them and the namespace of a lost node would remain. The namespace is
# deleted in the background; `verify` still needs it.
proof_clean() {
  proof_left=no
  verify_patient -n "$verify_space" delete pods --all --grace-period=0 --force --wait=false >/dev/null 2>&1 || proof_left=yes
  [ "$network_proof" = always ] ||
    verify_patient delete namespace "$verify_space" --ignore-not-found --wait=false >/dev/null || proof_left=yes
  [ "$proof_left" = no ] || say "cannot delete the pods of the network test: run kubectl delete namespace $verify_space"
  rm -rf "$gpuadm_lock/network-proof.d"
}
