#!/usr/bin/env bash
# One control plane and two workers from a package repository and a registry, with flannel where the bundle has its images: pods on all
# of them reach each other, nothing is done a second time, and reset removes the packages from each.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/packages.sh
. "$top/tests/lib/packages.sh"

hosts 1 one two three
names_a_server one two three
repository=$(lab repository "$bundle")
serve_packages "$repository/packages"
serve_registry "$repository/registry"
if has_image flannel; then
  sed -i 's/^network: .*/network: { plugin: flannel }/' cluster.yaml
else
  leaves_out "flannel: the bundle of $(kubernetes_version) has no image of it"
fi
from_packages "$(kubernetes_version)" >>cluster.yaml
installed() { for name in one two three; do on "$name" 'dpkg-query -W'; done; }
installed >before
# What has_a_cluster runs in its pods.
for name in one two three; do on "$name" 'ctr -n k8s.io images import -' <"$bundle/images/sleep.tar" >/dev/null; done

exits 0 gpuadm apply -f cluster.yaml -y
has_a_cluster one 3
for name in one two three; do
  on "$name" 'dpkg-query -W kubelet kubeadm' >out || fail "$name has no packages"
done
exits 0 gpuadm verify -f cluster.yaml
[ "$(grep -c 'reaches pods on 2 other nodes' out)" = 3 ] || fail "not every node was tested"
changes_nothing gpuadm apply -f cluster.yaml -y

exits 0 gpuadm reset -f cluster.yaml -y
installed >after
diff before after >out || fail "packages are left"
