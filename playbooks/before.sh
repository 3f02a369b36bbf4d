# shellcheck shell=sh disable=SC2034,SC2154
# The state of the host that a cluster changes besides gpuadm: recorded before the cluster exists
# (playbooks/kubernetes/before*.yaml), and compared when it is torn down (playbooks/reset.sh). Each place has one file:
# before/tree._etc_cni_net.d, before/links, ...

gpuadm_before=$gpuadm_home/before
gpuadm_trees="/etc/kubernetes /etc/cni/net.d /opt/cni/bin /var/lib/kubelet /var/lib/etcd /var/lib/cni /var/lib/dockershim
  /run/flannel /run/nvidia/mps /var/lib"
for gpuadm_one in root ${SUDO_USER:-}; do # kubectl's discovery caches
  gpuadm_trees="$gpuadm_trees $(home_of "$gpuadm_one")/.kube/cache"
done
gpuadm_tables="iptables-nft iptables-legacy ip6tables-nft ip6tables-legacy"

# Parameters that the kubelet, kube-proxy and network plugins set.
gpuadm_cluster_sysctls="vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys
  kernel/keys/root_maxbytes net/ipv4/conf/all/route_localnet net/ipv4/conf/all/arp_ignore net/ipv4/conf/all/arp_announce
  net/ipv6/conf/all/forwarding net/netfilter/nf_conntrack_max net/netfilter/nf_conntrack_tcp_timeout_established
  net/netfilter/nf_conntrack_tcp_timeout_close_wait net/netfilter/nf_conntrack_tcp_be_liberal net/ipv4/vs/conntrack
  net/ipv4/vs/conn_reuse_mode net/ipv4/vs/expire_nodest_conn net/ipv4/vs/expire_quiescent_template"

# Modules that they load, each before the modules that depend on it.
gpuadm_cluster_modules="nf_conntrack nf_nat vxlan veth ip_set ip_vs ip_vs_rr ip_vs_wrr ip_vs_sh ip_tables iptable_filter iptable_nat
  iptable_mangle ip6_tables ip6table_filter ip6table_nat ip6table_mangle xt_comment xt_mark xt_conntrack xt_addrtype xt_statistic
  xt_nat xt_MASQUERADE xt_set"

# tree_open PATH: path_do then acts as the owner of the tree. Fails if other users could change the target of PATH, with the reason
# in gpuadm_why.
tree_open() {
  case $1 in
    */.kube/cache)
      if [ -L "${1%/cache}" ] || [ -L "$1" ]; then
        gpuadm_why="$1 is reached through a symbolic link"
        return 1
      fi
      ;;
  esac
  path_look "$1/."
}

# tree_now PATH: its content, one path a line; of /etc/kubernetes and /var/lib only what belongs to a cluster. Content of a home is listed
# as its user. A name with a newline, which a pod may choose in its volumes, is left out with everything below it: its lines would be
# other paths.
tree_now() {
  [ -d "$1" ] || return 0
  gpuadm_lines="*$gpuadm_newline*"
  case $1 in
    /etc/kubernetes) (cd "$1" && for part in manifests pki tmp ./*.conf; do [ ! -e "$part" ] || find "${part#./}" -xdev -name "$gpuadm_lines" -prune -o -print; done) ;;
    /var/lib) [ ! -e "$1/kubernetes" ] || (cd "$1" && find kubernetes -xdev -name "$gpuadm_lines" -prune -o -print) ;;
    */.kube/cache) ! tree_open "$1" || path_do find "$1" -xdev -mindepth 1 -name "$gpuadm_lines" -prune -o -printf '%P\n' ;;
    *) find "$1" -xdev -mindepth 1 -name "$gpuadm_lines" -prune -o -printf '%P\n' ;;
  esac | sort
}
tree_file() { printf '%s/tree.%s' "$gpuadm_before" "$(printf %s "$1" | tr / _)"; }

# images_now RUNTIME: the images that are visible to Kubernetes.
images_now() {
  case $1 in
    containerd) ! have ctr || ctr --timeout 10s -n k8s.io images ls -q 2>/dev/null || : ;;
    docker) ! have docker || timeout 10 docker image ls --no-trunc --format '{{.ID}}' 2>/dev/null || : ;;
  esac | sort -u
}

links_now() { ip -o link | awk -F ': ' '{ sub(/@.*/, "", $2); print $2 }'; }

# rules_now TABLES: iptables-save of that variant, without counters and comments.
rules_now() { ! have "$1-save" || "$1-save" 2>/dev/null | sed -e '/^#/d' -e 's/ \[[0-9]*:[0-9]*\]$//'; }

# before_note: the folder is renamed to its final name when it is complete.
before_note() {
  gpuadm_final=$gpuadm_before gpuadm_before=$gpuadm_before.new
  rm -rf "$gpuadm_before"
  mkdir -p "$gpuadm_before"
  for gpuadm_one in $gpuadm_trees; do tree_now "$gpuadm_one" >"$(tree_file "$gpuadm_one")"; done
  for gpuadm_one in $gpuadm_tables; do rules_now "$gpuadm_one" >"$gpuadm_before/rules.$gpuadm_one"; done
  links_now >"$gpuadm_before/links"
  mv "$gpuadm_before" "$gpuadm_final"
  gpuadm_before=$gpuadm_final
}

# before_note_images: the images of the runtimes, which must be running.
before_note_images() {
  for gpuadm_one in docker containerd; do
    images_now "$gpuadm_one" >"$gpuadm_before/images.$gpuadm_one.new"
    mv "$gpuadm_before/images.$gpuadm_one.new" "$gpuadm_before/images.$gpuadm_one"
  done
}
