#!/usr/bin/env bash
# A run without a cluster file starts from the one that the cluster stores: it changes nothing of three nodes that a file made. A file that
# describes another cluster, another version, and a worker as the only host are refused, each with both values.
. "$(dirname "$0")/common"

hosts 1 one two three
sed -i 's/^name: one$/name: team/' cluster.yaml
# The lab's kernel has cgroup v1, where newer kubelets refuse to limit swap.
kubernetes_is_at_least 1.30 || echo 'swap: limited' >>cluster.yaml
exits 0 gpuadm apply -f cluster.yaml --bundle "$bundle" -y

admin() { administer one "$@"; }
state() {
  for name in one two three; do
    on "$name" 'find /etc/kubernetes /etc/cni/net.d /var/lib/kubelet/config.yaml -type f -printf "%p %m %s %T@\n" | sort; cat /var/lib/kubelet/config.yaml; ip route | sed "s/ linkdown//"'
  done
  on one 'cat /etc/kubernetes/gpuadm/cluster.yaml'
  admin get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.spec.taints}{" "}{.metadata.labels}{"\n"}{end}'
  admin -n kube-system get daemonsets,configmaps,deployments -o name
}
state >before
keys=(-i "$(lab key)" --host-key-checking strict --connect-timeout 5)
one=root@$(lab address one)

exits 0 without_file init "$one" "${keys[@]}" --bundle "$bundle" -y
says 'a control plane of cluster team: settings are those of its stored cluster file'
state >after
diff before after || fail "a second init without a cluster file has changed the cluster"
grep -qE '^1 host: 0 changed' out || fail "something was changed"
has_a_cluster one 3
# The same for a part of the hosts of the file, one of which alone would be schedulable.
exits 0 gpuadm init one -f cluster.yaml --bundle "$bundle" -y
state >after
diff before after || fail "a second init of one host has changed the cluster"

# The cluster is stored as installed from a bundle.
exits 2 without_file init "$one" "${keys[@]}" -y
complains 'add --bundle DIR'
exits 2 without_file upgrade "$one" "${keys[@]}" -y
complains 'add --bundle DIR'

# Another version: refused with both.
exits 3 without_file init "$one" "${keys[@]}" --bundle "$bundle" --kubernetes-version 1.99 -y
complains "runs cluster team with Kubernetes $(kubernetes_version), and --kubernetes-version requests 1.99"
# Another cluster: refused with both values of each setting.
refused() { # refused EDIT SENTENCE: a file with the edit of sed
  sed "$1" cluster.yaml >other.yaml
  exits 3 gpuadm apply -f other.yaml --bundle "$bundle" -y
  tr '\n' ' ' <err | tr -s ' ' | grep -qF "$2" || fail "err does not say: $2"
}
refused 's/^name: team/name: prod/' 'name is team there and prod in other.yaml'
refused 's/plugin: bridge/plugin: flannel/' 'network.plugin is bridge there and flannel in other.yaml'
refused 's/plugin: bridge/plugin: bridge, podCIDR: 10.9.0.0\/16/' 'network.podCIDR is 10.244.0.0/16 there and 10.9.0.0/16 in other.yaml'
refused 's/plugin: bridge/plugin: bridge, serviceCIDR: 10.8.0.0\/16/' 'network.serviceCIDR is 10.96.0.0/12 there and 10.8.0.0/16 in other.yaml'
exits 3 gpuadm storage add scratch local --host one --path /srv/scratch -f other.yaml -y
complains 'describes another cluster'

# A worker has no settings of its cluster.
two=root@$(lab address two)
exits 3 without_file init "$two" "${keys[@]}" --bundle "$bundle" -y
complains 'is a worker of cluster team'
complains 'gpuadm join'
exits 3 without_file runtime configure "$two" "${keys[@]}" -y
complains 'is a worker of cluster team'
state >after
diff before after || fail "a refused command has changed the cluster"

# The runtime's configuration is that of the cluster.
exits 0 without_file runtime configure "$one" "${keys[@]}" -y
grep -qE '^1 host: 0 changed' out || fail "the runtime was configured differently"
