# shellcheck shell=sh disable=SC2154
# Functions for the steps of playbooks/reset.yaml. They stand behind prelude.sh, before.sh and undo.sh. The steps look for
# themselves what is on the host, take apart what is there, and are satisfied where it is gone: so a reset that was cut off
# is run again. They write no journal: the way back from a cluster is the journal that made it.

# before_has FILE LINE: whether it stood there before there was a cluster.
before_has() { [ -f "$gpuadm_before/$1" ] && grep -qxF -- "$2" "$gpuadm_before/$1"; }

# --- The cluster's other nodes ---------------------------------------------------------------------------

reset_kubectl() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s "$@"; }

# reset_nodes: "NAME MACHINE-ID control-plane|worker", where an API server answers: the cluster's, or this host's own where a
# load balancer still leads to one that has ended.
reset_nodes() {
  [ -f /etc/kubernetes/admin.conf ] && have kubectl || return 0
  for gpuadm_server in '' $(reset_own_server); do
    reset_kubectl ${gpuadm_server:+--server "$gpuadm_server"} get nodes 2>/dev/null \
      -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.status.nodeInfo.machineID}{" "}{.metadata.labels}{"\n"}{end}' && break
  done | awk '{ role = /node-role.kubernetes.io\/(master|control-plane)/ ? "control-plane" : "worker"; print $1, $2, role }'
}
reset_own_server() {
  sed -nE 's/^ *- --(advertise-address|secure-port)=([0-9a-fA-F.:]+)$/\1 \2/p' /etc/kubernetes/manifests/kube-apiserver.yaml 2>/dev/null |
    awk '{ is[$1] = $2 } END { host = is["advertise-address"]; if (host ~ /:/) host = "[" host "]"; if (host != "") print "https://" host ":" is["secure-port"] }'
}
reset_this_node() { reset_nodes | awk -v id="$(cat /etc/machine-id)" '$2 == id { print $1 }'; }
# reset_planes_that_stay: control planes of the cluster that are not among the hosts of this run, whose machine ids are in
# $leaving_machines. Where none stays, the cluster goes as a whole: nobody is to be left, and the last members of etcd could not
# agree on who leaves.
reset_planes_that_stay() {
  reset_nodes | leaving=$leaving_machines awk '
    BEGIN { n = split(ENVIRON["leaving"], id, "\n"); for (i = 1; i <= n; i++) leaves[id[i]] = 1 }
    $3 == "control-plane" && !($2 in leaves) { print $1 }'
}

reset_leave_check() { [ -z "$(reset_planes_that_stay)" ] || [ -z "$(reset_this_node)" ] || exit 1; }
reset_leave() {
  node=$(reset_this_node)
  kubectl --kubeconfig /etc/kubernetes/admin.conf drain "$node" --ignore-daemonsets --force --timeout=60s ||
    say "not all pods could be moved away from $node: they end with it"
  [ ! -d /var/lib/etcd/member ] || timeout 120 kubeadm reset phase remove-etcd-member --kubeconfig /etc/kubernetes/admin.conf
  # The API server of a member that has left ends, and a load balancer may lead to it for a while.
  in_time 60 reset_forget "$node" || die "the API server does not delete the node $node: run again, or kubectl delete node $node"
}
reset_forget() { reset_kubectl delete node "$1" --ignore-not-found >/dev/null 2>&1; }

# --- Pods ------------------------------------------------------------------------------------------------

# reset_containerd_pods: containers in Kubernetes' namespace. Where containerd does not run, what it would find again.
reset_containerd_pods() {
  if have ctr && unit_is_active containerd.service; then
    ctr --timeout 10s -n k8s.io containers ls -q || die "containerd runs and does not answer: systemctl restart containerd, then run again"
  else
    ls /run/containerd/io.containerd.runtime.v2.task/k8s.io 2>/dev/null || :
  fi
}
reset_containerd_tasks() { ctr --timeout 10s -n k8s.io tasks ls 2>/dev/null | awk 'NR > 1 && $3 == "RUNNING" { print $1 }'; }
reset_no_tasks() { [ -z "$(reset_containerd_tasks)" ]; }
reset_containerd_answers() { ctr --timeout 5s version >/dev/null 2>&1; }

# reset_containerd_container ID: the CRI takes tasks away, too, and a container whose task goes meanwhile stays.
reset_containerd_container() {
  timeout 20 ctr -n k8s.io tasks kill --signal SIGKILL "$1" >/dev/null 2>&1 || :
  timeout 20 ctr -n k8s.io tasks rm --force "$1" >/dev/null 2>&1 || :
  timeout 20 ctr -n k8s.io containers rm "$1" >/dev/null 2>&1 || :
  ! reset_containerd_pods | grep -qxF "$1"
}

# Pods get the time to end by themselves; then the runtime is told to remove them: through the CRI where there is a client
# for it, which takes their network down, too; what it leaves, container by container.
reset_containerd() {
  unit_is_active containerd.service || systemctl start containerd.service
  in_time 30 reset_containerd_answers || die "containerd does not answer: journalctl -u containerd"
  for id in $(reset_containerd_tasks); do
    timeout 10 ctr -n k8s.io tasks kill --signal SIGTERM "$id" >/dev/null 2>&1 || : "it has ended"
  done
  in_time 10 reset_no_tasks || : "they are killed below"
  ! have crictl || timeout 120 crictl --runtime-endpoint unix:///run/containerd/containerd.sock rmp --all --force >/dev/null || :
  for id in $(reset_containerd_pods); do
    : >"$gpuadm_home/stale-pods"
    in_time 60 reset_containerd_container "$id" || say "containerd does not let go of the container $id"
  done
  # The CRI forgets what was taken from under it when it starts.
  if [ -e "$gpuadm_home/stale-pods" ]; then
    systemctl restart containerd.service
    in_time 30 reset_containerd_answers || die "containerd does not answer after its restart: journalctl -u containerd"
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

# reset_note_images: images that came with the cluster are journaled as such; undo removes them. Of Docker's, which others
# use as well, those that pods ran.
reset_note_images() {
  [ -f "$gpuadm_before/images.containerd" ] || return 0 # without it nothing tells the cluster's images from others
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

# --- What the cluster has left ---------------------------------------------------------------------------

# Volumes of pods, and the memory that MPS shares, which its control daemon mounts on the host.
reset_mounts() {
  awk '$2 ~ "^/var/lib/kubelet/." || $2 == "/run/nvidia/mps/shm" { print $2 }' /proc/mounts | sort -r | while read -r path; do
    case $path in
      /run/nvidia/mps/shm) before_has tree._run_nvidia_mps shm || printf '%s\n' "$path" ;;
      *) printf '%s\n' "$path" ;;
    esac
  done
}

# reset_leftover PATH: what is in a tree that was not there before. Without a note of what was, only of what is the cluster's
# alone.
reset_leftover() {
  if [ -f "$(tree_file "$1")" ]; then
    tree_now "$1" | awk -v before="$(tree_file "$1")" 'BEGIN { while ((getline line <before) > 0) was[line] = 1 } !($0 in was)'
  else
    case $1 in
      /etc/cni/net.d | /opt/cni/bin | /var/lib/cni | */.kube/cache) ;;
      *) tree_now "$1" ;;
    esac
  fi
}

# CDI specifications of claims, which the DRA driver removes where the kubelet ends pods: here the runtime ends them.
reset_claims() {
  for path in /var/run/cdi/k8s.gpu.nvidia.com-*; do [ ! -e "$path" ] || printf '%s\n' "$path"; done
}

# The address that kube-vip has left behind on this host: it got no time to take it away.
reset_virtual_address() {
  vip=$(sed -nE 's/.*\{ name: address, value: "([0-9a-f.:]+)" \}.*/\1/p' /etc/kubernetes/manifests/kube-vip.yaml 2>/dev/null | head -n 1)
  [ -n "$vip" ] || return 0
  ip -o addr show to "$vip" | while read -r _ link _ address _; do ip addr del "$address" dev "$link"; done
}

reset_state_check() {
  [ -z "$(reset_mounts)$(reset_claims)" ] && [ ! -e /run/gpuadm ] && [ ! -e "$gpuadm_home/joining" ] || exit 1
  for tree in $gpuadm_trees; do [ -z "$(reset_leftover "$tree")" ] || exit 1; done
}
# kubeadm knows what its own version has made. It empties whole folders: not those that held something before.
reset_by_kubeadm() {
  have kubeadm || return 0
  for tree in /etc/kubernetes /var/lib/kubelet /var/lib/etcd /var/lib/cni /var/lib/dockershim; do
    [ ! -s "$(tree_file "$tree")" ] || return 0
  done
  gpuadm_said=$(timeout 120 kubeadm reset --force --skip-phases=remove-etcd-member --cri-socket="$(reset_cri_socket)" 2>&1) ||
    say "kubeadm reset did not end well, and gpuadm goes on without it: $(printf %s "$gpuadm_said" | tail -n 1)"
}
# What the kubelet spoke to; Docker, where nothing else is said.
reset_cri_socket() {
  gpuadm_socket=$(sed -nE 's/.*--container-runtime-endpoint=([^ "]+).*/\1/p; s/^containerRuntimeEndpoint: *"?([^ "]+).*/\1/p' \
    /var/lib/kubelet/kubeadm-flags.env /var/lib/kubelet/config.yaml 2>/dev/null | head -n 1)
  printf '%s\n' "${gpuadm_socket:-/var/run/dockershim.sock}"
}
reset_state() {
  reset_virtual_address
  reset_by_kubeadm
  reset_mounts | while read -r path; do umount "$(printf '%b' "$path")" || umount -l "$(printf '%b' "$path")"; done
  for tree in $gpuadm_trees; do
    reset_leftover "$tree" | sort -r | while IFS= read -r path; do
      if [ -d "$tree/$path" ] && [ ! -L "$tree/$path" ]; then
        rmdir "$tree/$path" 2>/dev/null || : "something stands in it that was there before"
      else
        rm -f "$tree/$path"
      fi
    done
  done
  reset_claims | while IFS= read -r path; do rm -f "$path"; done
  rm -rf /var/run/kubernetes /run/gpuadm
  rm -f "$gpuadm_home/joining" "$gpuadm_home/cluster" "$gpuadm_home/upgraded"
}

# --- Network ---------------------------------------------------------------------------------------------

# Namespaces of pods in which nothing runs.
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

# reset_rules TABLES: the rules as they are with counters, without what a cluster adds and was not there before.
reset_rules() {
  "$1-save" -c 2>/dev/null | awk -v before="$gpuadm_before/rules.$1" '
    BEGIN { while ((getline line <before) > 0) was[line] = 1 }
    { bare = $0; sub(/^\[[0-9]+:[0-9]+\] /, "", bare); sub(/ \[[0-9]+:[0-9]+\]$/, "", bare) }
    bare in was { print; next }
    bare ~ /^:(KUBE|CNI|FLANNEL)-/ || bare ~ /^-A (KUBE|CNI|FLANNEL)-/ || bare ~ /-[jg] (KUBE|CNI|FLANNEL)-/ { next }
    bare ~ /--comment "?(flanneld|kubernetes|cni|CNI)/ { next }
    { print }'
}
# reset_has_rules TABLES
reset_has_rules() { have "$1-save" && [ "$(reset_rules "$1" | wc -l)" -ne "$("$1-save" -c 2>/dev/null | wc -l)" ]; }
# reset_new_tables TABLES: tables that were not there and are empty now. The kernel's own of the legacy kind stay.
reset_new_tables() {
  case $1 in *-nft) ;; *) return 0 ;; esac
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
    [ ! -d "$gpuadm_before" ] || [ -z "$(reset_new_tables "$tables")" ] || exit 1
  done
}
reset_network() {
  for name in $(reset_namespaces); do ip netns delete "$name"; done
  for link in $(reset_links); do ip link delete "$link"; done
  for tables in $gpuadm_tables; do
    ! reset_has_rules "$tables" || reset_rules "$tables" | "$tables-restore" -c
    [ -d "$gpuadm_before" ] || continue
    # A table that is restored from nothing is removed.
    for table in $(reset_new_tables "$tables"); do printf '*%s\nCOMMIT\n' "$table" | "$tables-restore"; done
  done
  reset_nft_tables | while read -r family table; do nft delete table "$family" "$table"; done
}

# The kubelet's units that live on without it, and its control groups, of both drivers.
reset_units() {
  systemctl list-units --plain --no-legend --type=slice,scope |
    awk '$1 ~ /^kubepods.*\.slice$/ || /Kubernetes (systemd probe|transient mount)/ { print $1 }'
}
reset_groups() { find /sys/fs/cgroup -depth -type d -path '*/kubepods*' 2>/dev/null; }
