# shellcheck shell=sh disable=SC2154
# Functions for the steps of playbooks/reset.yaml, loaded after prelude.sh, before.sh, static-pods.sh and undo.sh. The steps inspect the host,
# remove what exists, and are satisfied if nothing is left, so an interrupted reset can be run again. They write no journal, because
# the journal that created the cluster is also the one that undoes it.

# before_has FILE LINE: whether the record of the host before the cluster contains it.
before_has() { [ -f "$gpuadm_before/$1" ] && grep -qxF -- "$2" "$gpuadm_before/$1"; }

# reset_is_due: there is a record, which is deleted when the cluster is removed, or a cluster without one. From then on, and on a host that
# was never a node, everything belongs to the host.
reset_is_due() { [ -d "$gpuadm_before" ] || reset_is_foreign; }
# reset_is_foreign: the host is a node, and its state before was not recorded: gpuadm did not create the cluster. A worker may have had an
# admin.conf before.
reset_is_foreign() {
  [ ! -d "$gpuadm_before" ] || return 1
  [ -e /etc/kubernetes/kubelet.conf ] || { [ -e /etc/kubernetes/admin.conf ] && ! journal_has cluster kubeadm; }
}
# reset_record: for such a cluster, the trees that belong to a cluster alone, as if they had been empty.
reset_record() {
  gpuadm_final=$gpuadm_before gpuadm_before=$gpuadm_before.new
  rm -rf "$gpuadm_before"
  mkdir -p "$gpuadm_before"
  for tree in /etc/kubernetes /var/lib/kubelet /var/lib/etcd /var/lib/dockershim /run/flannel /run/nvidia/mps; do : >"$(tree_file "$tree")"; done
  mv "$gpuadm_before" "$gpuadm_final"
  gpuadm_before=$gpuadm_final
}
# reset_forget_record: a part of the record would be another record.
reset_forget_record() {
  rm -rf "$gpuadm_before.new"
  mv "$gpuadm_before" "$gpuadm_before.new"
  rm -rf "$gpuadm_before.new"
}

# --- The cluster's other nodes ---------------------------------------------------------------------------

reset_kubectl() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s "$@"; }

# reset_nodes: "NAME MACHINE-ID control-plane|worker ADDRESS,…", from the cluster's API server, or from this host's own if a load
# balancer still refers to one that has stopped. Fails if neither answers; of a worker, nothing is asked. Values that a node reports are
# quoted, so that they cannot forge a line.
reset_nodes() {
  [ -f /etc/kubernetes/admin.conf ] || [ -f /etc/kubernetes/manifests/etcd.yaml ] || return 0
  for gpuadm_server in '' $(reset_own_server); do
    # shellcheck disable=SC2016 # a template
    gpuadm_nodes=$(reset_kubectl ${gpuadm_server:+--server "$gpuadm_server"} get nodes \
      -o 'go-template={{range .items}}{{.metadata.name}}{{"\t"}}{{printf "%q" .status.nodeInfo.machineID}}{{"\t"}}{{range $key, $value := .metadata.labels}}{{$key}} {{end}}{{"\t"}}{{range .status.addresses}}{{printf "%q," .address}}{{end}}{{"\n"}}{{end}}') || continue
    printf '%s\n' "$gpuadm_nodes" | awk -F '\t' 'NF { gsub(/["\\ ]/, ""); role = $3 ~ /node-role.kubernetes.io\/(master|control-plane)/ ? "control-plane" : "worker"; print $1, $2, role, $4 }'
    return 0
  done
  return 1
}
reset_own_server() {
  sed -nE 's/^ *- --(advertise-address|secure-port)=([0-9a-fA-F.:]+)$/\1 \2/p' /etc/kubernetes/manifests/kube-apiserver.yaml 2>/dev/null |
    awk '{ is[$1] = $2 } END { host = is["advertise-address"]; if (host ~ /:/) host = "[" host "]"; if (host != "") print "https://" host ":" is["secure-port"] }'
}
# reset_this_node: in $reset_all, the output of reset_nodes, the node with this host's machine ID that also has its name or one of its
# addresses, because a node reports its machine ID itself and could report another one's.
reset_this_node() {
  printf '%s\n' "$reset_all" | id=$(cat /etc/machine-id) name=$(reset_own_name) addresses=$(ip -o addr 2>/dev/null | awk '{ sub(/\/.*/, "", $4); print $4 }') awk '
    BEGIN { n = split(ENVIRON["addresses"], line, "\n"); for (i = 1; i <= n; i++) own[line[i]] = 1 }
    $2 != ENVIRON["id"] { next }
    $1 == ENVIRON["name"] { named = $1; next }
    { n = split($4, address, ","); for (i = 1; i <= n; i++) if (address[i] in own) { found[$1] = 1; break } }
    END { if (named == "") for (node in found) { count++; named = node }; if (named != "" && count < 2) print named }'
}
reset_own_name() {
  gpuadm_named=$(sed -nE 's/.*--hostname-override=([^" ]+).*/\1/p' /var/lib/kubelet/kubeadm-flags.env 2>/dev/null || :)
  printf '%s\n' "${gpuadm_named:-$(hostname)}" | tr '[:upper:]' '[:lower:]'
}
# reset_planes_that_stay: control planes in $reset_all that are not among the hosts of this run. $leaving_machines has "MACHINE-ID
# NAME ADDRESS" of each host, with the name and the address by which gpuadm reaches it. A machine ID alone is not sufficient,
# because another host could report it. If no control plane stays, the cluster is removed as a whole: there is nothing to leave, and
# the last members of etcd would have no quorum.
reset_planes_that_stay() {
  printf '%s\n' "$reset_all" | leaving=$leaving_machines this=$(reset_this_node) awk '
    BEGIN { n = split(ENVIRON["leaving"], line, "\n"); for (i = 1; i <= n; i++) { split(line[i], word, " "); name[word[1]] = word[2]; at[word[1]] = word[3] } }
    function agrees() {
      if (!($2 in name)) return 0
      if (name[$2] == $1 || index(name[$2], $1 ".") == 1 || index($1, name[$2] ".") == 1 || at[$2] == $1) return 1
      return index("," $4 ",", "," at[$2] ",") > 0
    }
    $3 == "control-plane" && $1 != ENVIRON["this"] && !agrees() { print $1 }'
}

# reset_etcd METHOD JSON SECONDS: calls etcd on this host.
reset_etcd() {
  gpuadm_pki=/etc/kubernetes/pki/etcd
  printf '%s' "$2" | timeout "$(($3 + 2))" kubectl --kubeconfig /dev/null --request-timeout="$3s" --server "$(etcd_url)" \
    --certificate-authority="$gpuadm_pki/ca.crt" --client-certificate="$gpuadm_pki/healthcheck-client.crt" \
    --client-key="$gpuadm_pki/healthcheck-client.key" create --raw "/v3/cluster/member/$1" -f -
}
# reset_members: "NAME PEER-URL" of the members of etcd: as etcd on this host lists them, or as its data has them, which may still contain
# removed ones, or as kubeadm configured them.
reset_members() {
  gpuadm_members=$(
    { reset_etcd list '{}' 3 || cat /var/lib/etcd/member/snap/db; } 2>/dev/null | grep -aoE '\{"(id|ID)":[^{}]*"peerURLs":\["[^{}]*\}' |
      sed -nE 's/.*"name":"([A-Za-z0-9.-]+)".*/\1 &/; s/ .*"peerURLs":\["([^"]+)".*/ \1/p' | sort -u
  )
  [ -n "$gpuadm_members" ] || gpuadm_members=$(static_pod_flag etcd initial-cluster | tr ',=' '\n ')
  printf '%s\n' "$gpuadm_members"
}
# reset_members_that_stay: names of those that are not on the hosts of this run.
reset_members_that_stay() {
  reset_members | leaving=$leaving_machines own=$(static_pod_flag etcd name) awk '
    BEGIN { n = split(ENVIRON["leaving"], line, "\n"); for (i = 1; i <= n; i++) { split(line[i], word, " "); name[i] = word[2]; at[i] = word[3] } }
    NF != 2 || $1 == ENVIRON["own"] { next }
    { gsub(/^[a-z]+:\/\/\[?|\]?:[0-9]+$/, "", $2); for (i = 1; i <= n; i++) if (name[i] == $1 || index(name[i], $1 ".") == 1 || index($1, name[i] ".") == 1 || at[i] == $2) next; print $1 }'
}

# $leave_unread: what to do if no API server answers and members of etcd stay: "refuse", "say" that this node stays in the cluster, or
# "left": nothing, because another control plane has removed it. $gpuadm_home/left: it has left, or that was said.
reset_leave_check() {
  if reset_all=$(reset_nodes 2>/dev/null); then
    [ -z "$(reset_planes_that_stay)" ] || [ -z "$(reset_this_node)" ] || exit 1
    return
  fi
  [ -f /etc/kubernetes/manifests/etcd.yaml ] && [ "$leave_unread" != left ] && [ ! -e "$gpuadm_home/left" ] || return 0
  gpuadm_stay=$(reset_members_that_stay)
  [ -n "$gpuadm_stay" ] || return 0
  [ "$leave_unread" = say ] || reset_leave_refuse
  exit 1
}
reset_leave_refuse() {
  die "no API server answers with /etc/kubernetes/admin.conf, so this node cannot leave the cluster, and other members of etcd stay${gpuadm_stay:+: $(printf %s "$gpuadm_stay" | tr '\n' ' ')}. Run gpuadm remove with another control plane instead; or repair it (gpuadm doctor), then run again; or use --force"
}
reset_leave() {
  if reset_all=$(request reset_nodes 2>/dev/null); then
    node=$(reset_this_node)
    kube --kubeconfig /etc/kubernetes/admin.conf drain "$node" --ignore-daemonsets --force --timeout=60s ||
      say "cannot drain $node: its remaining pods are stopped with it"
    reset_leave_etcd
    # The API server of a removed member stops, and a load balancer may refer to it for a while.
    in_time 60 reset_forget "$node" ||
      die "cannot delete the node $node: it is drained and cordoned, and its etcd member, if it had one, is removed. Run again, or run kubectl delete node $node"
  else
    [ "$leave_unread" = say ] || reset_leave_refuse
    node=$(reset_own_name)
    say "no API server answers, so the node $node and its member of etcd stay in the cluster. Remove them on another control plane: etcdctl member list, etcdctl member remove ID, kubectl delete node $node"
  fi
  : >"$gpuadm_home/left"
}
# Removes the etcd member of this host, which etcd names in its answer. etcd refuses to lose its quorum, and for a while after another member
# has joined or left it may answer 503. "Member not found" after a repetition: an earlier attempt removed it, and its answer was lost. If etcd on
# this host does not answer, kubeadm asks the other members: it exits with 0 even if it removed nothing, so its warnings are read.
reset_leave_etcd() {
  [ -f /etc/kubernetes/manifests/etcd.yaml ] && [ ! -e "$gpuadm_home/left-etcd" ] || return 0
  reset_why=
  if reset_said=$(request reset_etcd list '{}' 10 2>/dev/null); then
    reset_id=$(printf '%s\n' "$reset_said" | sed -nE 's/^\{"header":\{[^{}]*"member_id":"([0-9]+)".*/\1/p')
    [ -n "$reset_id" ] || die "etcd on this host does not name its member ID: run gpuadm remove with another control plane"
    reset_said=$(request reset_etcd remove "{\"ID\":\"$reset_id\"}" 30 2>&1) || case $reset_said in
      *'member not found'*) ;;
      *) reset_why=$(printf '%s\n' "$reset_said" | tail -n 1) ;;
    esac
  elif reset_said=$(timeout 120 kubeadm reset phase remove-etcd-member --kubeconfig /etc/kubernetes/admin.conf 2>&1); then
    reset_why=$(printf '%s\n' "$reset_said" | grep -iE 'failed to remove etcd member|unable to fetch the kubeadm-config' | tail -n 1)
  else
    reset_why="kubeadm: $(printf '%s\n' "$reset_said" | tail -n 1)"
  fi
  if [ -n "$reset_why" ]; then
    reset_why="cannot remove the etcd member of this host: $reset_why"
    [ "$leave_unread" = say ] ||
      die "$reset_why. So far the node $node is drained and cordoned; it is still in the cluster with its etcd member, and nothing on this host was changed. Run gpuadm doctor for the state of etcd, then run again, or kubectl uncordon $node to cancel; or run gpuadm remove with another control plane; or use --force"
    say "$reset_why. Remove it on another control plane: etcdctl member list, etcdctl member remove ID"
  fi
  : >"$gpuadm_home/left-etcd"
}
reset_forget() { reset_kubectl delete node "$1" --ignore-not-found >/dev/null 2>&1; }

# --- Pods ------------------------------------------------------------------------------------------------

# reset_containerd_pods: containers in the namespace of Kubernetes. If containerd is not running, those that it would find at
# startup.
reset_containerd_pods() {
  if have ctr && unit_is_active containerd.service; then
    ctr --timeout 10s -n k8s.io containers ls -q || die "containerd is running but does not respond: run systemctl restart containerd, then run again"
  else
    ls /run/containerd/io.containerd.runtime.v2.task/k8s.io 2>/dev/null || :
  fi
}
reset_containerd_tasks() { ctr --timeout 10s -n k8s.io tasks ls 2>/dev/null | awk 'NR > 1 && $3 == "RUNNING" { print $1 }'; }
reset_no_tasks() { [ -z "$(reset_containerd_tasks)" ]; }
reset_containerd_answers() { ctr --timeout 5s version >/dev/null 2>&1; }

# reset_containerd_container ID: the CRI deletes tasks, too, and a container whose task is deleted concurrently remains.
reset_containerd_container() {
  timeout 20 ctr -n k8s.io tasks kill --signal SIGKILL "$1" >/dev/null 2>&1 || :
  timeout 20 ctr -n k8s.io tasks rm --force "$1" >/dev/null 2>&1 || :
  timeout 20 ctr -n k8s.io containers rm "$1" >/dev/null 2>&1 || :
  ! reset_containerd_pods | grep -qxF "$1"
}

# Pods get time to terminate; then the runtime removes them: through the CRI if a client is installed, which also removes their
# network, and the rest container by container.
reset_containerd() {
  unit_is_active containerd.service || systemctl start containerd.service
  in_time 30 reset_containerd_answers || die "containerd does not respond: run journalctl -u containerd"
  for id in $(reset_containerd_tasks); do
    timeout 10 ctr -n k8s.io tasks kill --signal SIGTERM "$id" >/dev/null 2>&1 || : "it has ended"
  done
  in_time 10 reset_no_tasks || : "they are killed below"
  ! have crictl || timeout 120 crictl --runtime-endpoint unix:///run/containerd/containerd.sock rmp --all --force >/dev/null || :
  for id in $(reset_containerd_pods); do
    : >"$gpuadm_home/stale-pods"
    in_time 60 reset_containerd_container "$id" || say "containerd failed to remove the container $id"
  done
  # At startup the CRI drops containers that were removed without it.
  if [ -e "$gpuadm_home/stale-pods" ]; then
    systemctl restart containerd.service
    in_time 30 reset_containerd_answers || die "containerd does not respond after its restart: run journalctl -u containerd"
    rm -f "$gpuadm_home/stale-pods"
  fi
}

reset_docker_pods() { ! have docker || ! unit_is_active docker.service || timeout 20 docker ps --all --quiet --filter name=k8s_; }
reset_docker() {
  # shellcheck disable=SC2046 # one word an id
  timeout 60 docker stop --time 10 $(reset_docker_pods) >/dev/null
  # shellcheck disable=SC2046
  timeout 60 docker rm --force --volumes $(reset_docker_pods) >/dev/null
}

reset_crio_pods() { ! have crictl || ! unit_is_active crio.service || timeout 20 crictl --runtime-endpoint unix:///run/crio/crio.sock pods --quiet; }
reset_crio() { timeout 120 crictl --runtime-endpoint unix:///run/crio/crio.sock rmp --all --force >/dev/null; }

# reset_note_images: images of the cluster are journaled so that undo removes them. Of Docker's images, which others use as well,
# only those of pods.
reset_note_images() {
  [ -f "$gpuadm_before/images.containerd" ] || return 0 # without it the cluster's images cannot be distinguished
  for image in $(images_now containerd); do
    before_has images.containerd "$image" || journal_has image "$image" || journal_made image "$image"
  done
  have docker && unit_is_active docker.service || return 0
  for pod in $(reset_docker_pods); do
    image=$(timeout 10 docker inspect --format '{{.Image}}' "$pod") || continue
    before_has images.docker "$image" && continue
    for name in $(timeout 10 docker image inspect --format '{{range .RepoTags}}{{.}} {{end}}' "$image"); do
      journal_has docker-image "$name" || journal_made docker-image "$name"
    done
  done
}

# --- Remains of the cluster ------------------------------------------------------------------------------

# Volumes of pods, and the shared memory of MPS, which its control daemon mounts on the host.
reset_mounts() {
  awk '$2 ~ "^/var/lib/kubelet/." || $2 == "/run/nvidia/mps/shm" { print $2 }' /proc/mounts | sort -r | while read -r path; do
    case $path in
      /run/nvidia/mps/shm) before_has tree._run_nvidia_mps shm || printf '%s\n' "$path" ;;
      *) printf '%s\n' "$path" ;;
    esac
  done
}

# reset_leftover PATH: the content of a recorded tree that was not there before the cluster: of a new folder the folder only, because a record
# has the folders of all that it has.
reset_leftover() {
  [ -f "$(tree_file "$1")" ] || return 0
  tree_now "$1" | comm -23 - "$(tree_file "$1")" | awk '{ path = $0; while (sub(/\/[^\/]*$/, "", path)) if (path in new) next; new[$0]; print }'
}

# CDI specifications of claims: the DRA driver removes them when the kubelet terminates pods, but here the runtime terminates the
# pods.
reset_claims() {
  for path in /var/run/cdi/k8s.gpu.nvidia.com-*; do [ ! -e "$path" ] || printf '%s\n' "$path"; done
}

# The virtual address that a killed kube-vip has left on this host.
reset_virtual_address() {
  vip=$(sed -nE 's/.*\{ name: address, value: "([0-9a-f.:]+)" \}.*/\1/p' /etc/kubernetes/manifests/kube-vip.yaml 2>/dev/null | head -n 1)
  [ -n "$vip" ] || return 0
  ip -o addr show to "$vip" | while read -r _ link _ address _; do ip addr del "$address" dev "$link"; done
}

reset_state_check() {
  [ ! -e /run/gpuadm ] && [ ! -e "$gpuadm_home/joining" ] || exit 1
  reset_is_due || return 0
  [ -d "$gpuadm_before" ] && [ -z "$(reset_mounts)$(reset_claims)" ] || exit 1
  for tree in $gpuadm_trees; do [ -z "$(reset_leftover "$tree")" ] || exit 1; done
}
# kubeadm removes what its own version has created. It empties whole folders, so it is skipped if one of them had content before.
reset_by_kubeadm() {
  have kubeadm || return 0
  for tree in /etc/kubernetes /var/lib/kubelet /var/lib/etcd /var/lib/cni /var/lib/dockershim; do
    [ ! -s "$(tree_file "$tree")" ] || return 0
  done
  gpuadm_said=$(timeout 120 kubeadm reset --force --skip-phases=remove-etcd-member --cri-socket="$(reset_cri_socket)" 2>&1) ||
    say "kubeadm reset failed, and gpuadm continues without it: $(printf %s "$gpuadm_said" | tail -n 1)"
}
# The kubelet's runtime endpoint; Docker by default.
reset_cri_socket() {
  gpuadm_socket=$(sed -nE 's/.*--container-runtime-endpoint=([^ "]+).*/\1/p; s/^containerRuntimeEndpoint: *"?([^ "]+).*/\1/p' \
    /var/lib/kubelet/kubeadm-flags.env /var/lib/kubelet/config.yaml 2>/dev/null | head -n 1)
  printf '%s\n' "${gpuadm_socket:-/var/run/dockershim.sock}"
}
# reset_remove TREE: removes the paths on stdin, and what is below them on the same file system. A mount point is kept.
reset_remove() {
  [ -d "$1" ] || return 0
  tree_open "$1" || die "$1 is not removed: $gpuadm_why"
  # shellcheck disable=SC2016 # of the inner shell
  path_do sh -c 'cd "$1" && device=$(stat -c %d .) && while IFS= read -r path; do
    [ "$(stat -c %d "./$path")" != "$device" ] || rm -rf --one-file-system "./$path"
  done' sh "$1" || : "the check names what stays"
}
reset_state() {
  ! reset_is_foreign || reset_record
  if reset_is_due; then
    reset_virtual_address
    reset_by_kubeadm
    reset_mounts | while read -r path; do umount "$(printf '%b' "$path")" || umount -l "$(printf '%b' "$path")"; done
    for tree in $gpuadm_trees; do
      reset_leftover "$tree" | reset_remove "$tree"
    done
    reset_claims | while IFS= read -r path; do rm -f "$path"; done
    rm -rf /var/run/kubernetes
  fi
  rm -rf /run/gpuadm
  rm -f "$gpuadm_home/left" "$gpuadm_home/left-etcd" "$gpuadm_home/joining" "$gpuadm_home/cluster" "$gpuadm_home/default-token" "$gpuadm_home/upgraded"
}

# --- Network ---------------------------------------------------------------------------------------------

# Network namespaces of pods in which no process runs.
reset_namespaces() {
  for path in /run/netns/cni-*; do
    [ -e "$path" ] && [ -z "$(ip netns pids "${path##*/}" 2>/dev/null)" ] && printf '%s\n' "${path##*/}"
  done
  return 0
}
reset_links() {
  for link in cni0 flannel.1 flannel-v6.1 kube-ipvs0 nodelocaldns; do
    ! ip link show "$link" >/dev/null 2>&1 || before_has links "$link" || printf '%s\n' "$link"
  done
}

# reset_rules TABLES: the current rules with counters, without the rules that a cluster adds.
reset_rules() {
  "$1-save" -c 2>/dev/null | awk -v before="$gpuadm_before/rules.$1" '
    BEGIN { while ((getline line <before) > 0) was[line] = 1 }
    { bare = $0; sub(/^\[[0-9]+:[0-9]+\] /, "", bare); sub(/ \[[0-9]+:[0-9]+\]$/, "", bare) }
    bare in was { print; next }
    bare ~ /^:(KUBE|CNI|FLANNEL)-/ || bare ~ /^-A (KUBE|CNI|FLANNEL)-/ || bare ~ /-[jg] (KUBE|CNI|FLANNEL)-/ { next }
    bare ~ /--comment "?(flanneld|kubernetes|cni|CNI|gpuadm-pods)/ { next }
    { print }'
}
# reset_has_rules TABLES
reset_has_rules() { have "$1-save" && [ "$(reset_rules "$1" | wc -l)" -ne "$("$1-save" -c 2>/dev/null | wc -l)" ]; }
# reset_new_tables TABLES: tables that did not exist before and are empty now. The kernel's legacy tables cannot be removed.
reset_new_tables() {
  case $1 in *-nft) ;; *) return 0 ;; esac
  [ -f "$gpuadm_before/rules.$1" ] || return 0
  rules_now "$1" | awk -v before="$gpuadm_before/rules.$1" '
    BEGIN { while ((getline line <before) > 0) was[line] = 1 }
    /^\*/ { table = substr($0, 2); used = 0 }
    /^-A/ || (/^:/ && $2 != "ACCEPT") { used = 1 }
    /^COMMIT/ && !used && !(("*" table) in was) { print table }'
}
reset_nft_tables() { ! have nft || nft list tables 2>/dev/null | awk '$3 == "kube-proxy" || $3 ~ /^flannel-ipv[46]$/ { print $2, $3 }'; }

reset_network_check() {
  [ -z "$(reset_namespaces)$(reset_links)$(reset_nft_tables)" ] || exit 1
  for tables in $gpuadm_tables; do
    ! reset_has_rules "$tables" || exit 1
    [ -z "$(reset_new_tables "$tables")" ] || exit 1
  done
}
reset_network() {
  systemctl stop gpuadm-pod-forward.service 2>/dev/null || : "there is none"
  for name in $(reset_namespaces); do ip netns delete "$name"; done
  for link in $(reset_links); do ip link delete "$link"; done
  for tables in $gpuadm_tables; do
    ! reset_has_rules "$tables" || reset_rules "$tables" | "$tables-restore" -c
    # Restoring a table from empty input removes it.
    for table in $(reset_new_tables "$tables"); do printf '*%s\nCOMMIT\n' "$table" | "$tables-restore"; done
  done
  reset_nft_tables | while read -r family table; do nft delete table "$family" "$table"; done
}

# Units of the kubelet that outlive it, and its cgroups, of both cgroup drivers.
reset_units() {
  systemctl list-units --plain --no-legend --type=slice,scope |
    awk '$1 ~ /^kubepods.*\.slice$/ || /Kubernetes (systemd probe|transient mount)/ { print $1 }'
}
# Containers' scopes that systemd has marked as failed, such as after a timeout: they and their slices stay loaded, though nothing runs in
# them, and `systemctl stop` does not change that.
reset_failed_scopes() {
  for reset_scope in $(systemctl list-units --plain --no-legend --type=scope --state=failed | awk '{ print $1 }'); do
    case $(systemctl show -p Slice --value "$reset_scope") in kubepods*) printf '%s\n' "$reset_scope" ;; esac
  done
}
# Those of users, who name the groups below their slice, stay. Without -depth, -prune works; the last ones are the deepest.
reset_groups() { find /sys/fs/cgroup -name user.slice -prune -o -type d -path '*/kubepods*' -print 2>/dev/null | sort -r; }
