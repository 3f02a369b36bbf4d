#!/usr/bin/env bash
# The add-on kueue with the real Kueue on two nodes with two GPUs each (of a double: pods get none, but quotas and the scheduler count them): it is
# proven, and a second enable changes nothing. Users have shares and a queue of their own; jobs wait with a place, start in their order, borrow a
# share and are stopped when its owner needs it. Ctrl-C takes a queued job back. While Kueue is away, jobs outside queues can be created. disable
# is refused while jobs wait, and deletes everything. Before Kubernetes 1.29 it is refused, with what there is instead.
. "$(dirname "$0")/common"

kubernetes_is_at_least 1.29 || {
  node_with_two_gpus "$bundle/images/sleep.tar"
  exits 3 gpuadm addon enable kueue -f cluster.yaml
  complains "Kueue needs Kubernetes 1.29 or newer"
  complains "--wait 12h"
  leaves_out "the queues themselves: Kubernetes $(kubernetes_version)"
  exit 0
}
has_image kueue || skip "the bundle has no image of Kueue (images/kueue.tar), which the lab does not build"

ready_nodes 1 one two
kube() { administer one "$@"; }
for taint in master control-plane; do kube taint nodes one "node-role.kubernetes.io/$taint-" >out 2>err || :; done
"$top/tests/lib/rank-image" rank.tar
for name in one two; do
  for image in "$(lab device-plugin)" rank.tar "$bundle/images/kueue.tar"; do
    on "$name" 'ctr -n k8s.io images import - >/dev/null' <"$image" || fail "the image $image was not imported on $name"
  done
done
sed 's/COUNT/2/' "$top/tests/lab/device-plugin/manifest.yaml" | kube apply -f - >/dev/null
offers() { [ "$(kube get node "$1" -o 'jsonpath={.status.allocatable.nvidia\.com/gpu}')" = 2 ]; }
for name in one two; do within 240 "the node $name offers two GPUs" offers "$name"; done
kube label node one nvidia.com/gpu.product=NVIDIA-H200 >/dev/null
kube label node two nvidia.com/gpu.product=NVIDIA-H200 >/dev/null
# The image of the catalog, under the name that the bundle has.
mkdir -p assets/playbooks
sed "s,^  kueue_image: .*,  kueue_image: $(image_of kueue)," "$top/playbooks/catalog.yaml" >assets/playbooks/catalog.yaml
addon() { gpuadm addon "$1" kueue "${@:2}" -f cluster.yaml --assets assets; }
is() { [ "$1" = "$2" ] || fail "it is '$1', and not '$2'"; }
# quota_of CLUSTERQUEUE: nominal quota, borrowing limit, lending limit.
quota_of() { kube get clusterqueue "$1" -o 'jsonpath={range .spec.resourceGroups[0].flavors[0].resources[0]}{.nominalQuota}+{.borrowingLimit}/{.lendingLimit}{end}'; }
# Objects of the cluster that the add-on could leave.
everything() {
  kube get namespaces,serviceaccounts,configmaps,secrets,services,deployments,pods,clusterroles,clusterrolebindings,roles,rolebindings,jobs,customresourcedefinitions,mutatingwebhookconfigurations,validatingwebhookconfigurations -A \
    -o 'custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name' --no-headers | sort
}
no_test_is_left() { [ -z "$(kube get namespace gpuadm-verify --ignore-not-found -o name)" ]; }
within 240 "the namespace of the network test to be deleted" no_test_is_left

# Users whose quotas are more than the four GPUs: the shares are two each.
for name in anna ben; do exits 0 gpuadm user add "$name" --gpus 3 -f cluster.yaml -y; done
everything >before
exits 3 gpuadm train run early --queue --image lab.local/rank:1 -f cluster.yaml -- sleep 1
complains "the cluster has no queues: the add-on kueue is not enabled"

# An image that is missing: nothing is left.
sed -i 's,^  kueue_image: .*,  kueue_image: 127.0.0.1:1/none:1,' assets/playbooks/catalog.yaml
exits 1 addon enable --wait-timeout 60
complains "cannot reach the registry 127.0.0.1:1"
complains "deleted what was created of the add-on kueue"
everything >now
diff before now >difference || fail "a failed enable has left: $(cat difference)"
sed -i "s,^  kueue_image: .*,  kueue_image: $(image_of kueue)," assets/playbooks/catalog.yaml

# Enabled: proven, with a flavor of the product, a queue for each user, and one for all others.
exits 0 addon enable --set sharing=strict
says "a job was admitted and ran; one that needs more than its queue has waits; 3 ClusterQueues are active"
complains "create ClusterQueue gpuadm-user-anna"
is "$(kube get resourceflavors -o 'jsonpath={.items[*].metadata.name} {.items[0].spec.nodeLabels}')" 'gpuadm-nvidia-h200 {"nvidia.com/gpu.product":"NVIDIA-H200"}'
is "$(quota_of gpuadm) $(quota_of gpuadm-user-anna) $(quota_of gpuadm-user-ben)" "0+/ 2+1/0 2+1/0"
is "$(kube get localqueues -A -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}={.spec.clusterQueue} {end}')" \
  "anna/gpuadm=gpuadm-user-anna ben/gpuadm=gpuadm-user-ben default/gpuadm=gpuadm "
exits 0 gpuadm addon list -f cluster.yaml -o json
jq -e '.addons[] | select(.name == "kueue") | .state == "ready" and .settings.sharing == "strict"' out >/dev/null || fail "the list is wrong"
versions() {
  kube get namespaces,configmaps,services,deployments,clusterroles,customresourcedefinitions,mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterqueues,resourceflavors,localqueues -A -l gpuadm.io/name=kueue \
    -o 'custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name,G:.metadata.generation,U:.metadata.uid' --no-headers | sort
}
versions >before.versions
exits 0 addon enable --set sharing=strict
hides 'create|change'
versions >now
diff before.versions now >difference || fail "a second enable changes: $(cat difference)"
exits 0 addon verify

# A user without SSH: a job of two ranks is admitted as a whole; what follows waits, in its order, with its place.
home=$place/anna
mkdir -p "$home"
config=$home/anna.kubeconfig
install -m 600 "$(find .local/state/gpuadm -name anna.kubeconfig)" "$config"
PATH=$bundle/bin:$PATH
train() { gpuadm train run "$1" --kubeconfig "$config" --image lab.local/rank:1 "${@:2}" -- sleep "${seconds:-600}"; }
anna() { gpuadm "$@" --kubeconfig "$config"; }
phase() { anna train list -o json >list.json && jq -r --arg name "$1" '.[] | select(.name == $name) | .state' list.json; }
is_phase() { [ "$(phase "$1")" = "$2" ]; }
exits 0 train first --nodes 2 --gpus 1 --queue --detach
within 120 "the ranks of the first job run" is_phase first Running
exits 0 train second --gpus 2 --queue --detach
complains "train/second is queued: 1st of 1 in the queue gpuadm-user-anna; needs 2 GPUs, 0 are free"
says "train/second is in its queue"
exits 0 train third --gpus 1 --queue --detach
complains "train/third is queued: 2nd of 2 in the queue gpuadm-user-anna; needs 1 GPU"
exits 0 anna workload list
grep -qE 'second .* queued: 1st of 2 in the queue gpuadm-user-anna; needs 2 GPUs, 0 are free' out || fail "the place is not listed"
exits 0 gpuadm workload list -f cluster.yaml
grep -qE 'third .* queued: 2nd of 2' out || fail "the place is not listed for the administrator"
exits 1 anna explain pod second
says "job/second waits in the queue gpuadm"
says "2 more needed"
is "$(kube -n anna get job second -o 'jsonpath={.spec.suspend}')" true
is "$(kube -n anna get pods -l gpuadm.io/name=second -o name)" ""
exits 3 train typo --queue=gpuadn
complains "the namespace anna has no queue gpuadn"
complains "it has: gpuadm"
exits 3 train large --gpus 1 --nodes 3 --queue
complains "3 nodes needed"

# Ctrl-C takes a job back.
interrupted 120 'train/fourth is queued: 3rd of 3' train run fourth --kubeconfig "$config" --image lab.local/rank:1 --gpus 1 --queue -- sleep 600
is "$(kube -n anna get jobs,services,configmaps,secrets -l gpuadm.io/name=fourth -o name)" ""

# The first one ends: the second one starts, and the third one, which fits no more, waits.
exits 0 anna train stop first
# Its pods are refused by the quota until those of the first one have ended, and the Job controller tries again within a minute or two.
within 300 "the second job runs" is_phase second Running
exits 0 anna workload list
grep -qE 'third .* queued: 1st of 1' out || fail "the third job does not wait"

# The share of ben is lent, until ben needs it.
exits 0 addon enable --set sharing=reclaim
complains "change ClusterQueue gpuadm-user-ben"
is "$(quota_of gpuadm-user-ben)" "2+1/"
within 300 "the third job runs on the share of ben" is_phase third Running
ben=$place/ben.kubeconfig
install -m 600 "$(find .local/state/gpuadm -name ben.kubeconfig)" "$ben"
seconds=40
exits 0 gpuadm train run urgent --kubeconfig "$ben" --image lab.local/rank:1 --nodes 2 --gpus 1 --queue -- sleep "$seconds"
complains "train/urgent: all 2 ranks succeeded"
within 300 "the third job runs again" is_phase third Running
is "$(kube -n anna get workloads -o json | jq -r '[.items[] | select(.metadata.ownerReferences[0].name == "third") | .status.schedulingStats.evictions[].reason] | join(" ")')" Preempted

# Kueue is away: a job outside queues can be created, and one for a queue is refused and leaves nothing.
kube -n gpuadm-kueue scale deployment kueue --replicas=0 >/dev/null
away() { [ -z "$(kube -n gpuadm-kueue get pods -o name)" ]; }
within 60 "Kueue has ended" away
kube create job outside --image=lab.local/rank:1 -- true >/dev/null || fail "without Kueue, no job can be created"
kube delete job outside >/dev/null
exits 1 train away --queue --detach
complains "kueue-webhook-service"
is "$(kube -n anna get jobs -l gpuadm.io/name=away -o name)" ""
kube -n gpuadm-kueue scale deployment kueue --replicas=1 >/dev/null
kube -n gpuadm-kueue rollout status deployment kueue --timeout=240s >/dev/null || fail "Kueue is not ready again"

# A user is removed, another one gets more: the queues follow.
exits 0 gpuadm user remove ben -f cluster.yaml -y
says "delete ClusterQueue gpuadm-user-ben"
is "$(quota_of gpuadm) $(quota_of gpuadm-user-anna)" "1+/ 3+0/"
exits 0 gpuadm user quota anna --gpus 4 -f cluster.yaml -y
is "$(quota_of gpuadm) $(quota_of gpuadm-user-anna)" "0+/ 4+0/"
exits 0 gpuadm user add carl --gpus 4 -f cluster.yaml -y
says "create LocalQueue carl/gpuadm"
is "$(quota_of gpuadm-user-anna) $(quota_of gpuadm-user-carl)" "2+2/ 2+2/"
exits 0 gpuadm user remove carl -f cluster.yaml -y

# Disabled: not while jobs wait; then nothing is left, and jobs run without it.
exits 0 train last --gpus 2 --queue --detach
exits 3 gpuadm addon disable kueue -f cluster.yaml -y
complains "1 job waits in queues, and would never start: anna/last"
exits 0 anna train stop last
exits 0 gpuadm addon disable kueue -f cluster.yaml -y
for job in second third; do exits 0 anna train stop "$job"; done
everything >now
grep -i kueue now >left && fail "disable has left: $(cat left)"
kube create job outside --image=lab.local/rank:1 -- true >/dev/null || fail "after disable, no job can be created"
