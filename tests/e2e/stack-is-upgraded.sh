#!/usr/bin/env bash
# Two nodes get a newer containerd (Debian's 1.6 becomes Debian's 1.7), one after the other: drained, changed, Ready, and taking pods
# again; gpuadm is killed in between and continues. The toolkit is upgraded where it is installed; its packages hold the lab's double of
# nvidia-ctk. The runtime's configuration keeps what is not gpuadm's, and nothing is left to do at the end.
. "$(dirname "$0")/common"
! kubernetes_is_at_least 1.34 || skip "Kubernetes $(kubernetes_version) does not support containerd 1.6, which this test upgrades"

# What the hosts' package repository has: Debian 13's containerd, and two versions of the toolkit's double.
repository() {
  local apt=$place/apt version
  mkdir -p "$apt/lists/partial" repo double/DEBIAN double/usr/bin
  : >"$apt/status"
  printf 'deb %s trixie main\n' "${GPUADM_LAB_MIRROR:-http://deb.debian.org/debian}" >"$apt/sources"
  cat >"$apt/conf" <<END
Dir::State::lists "$apt/lists"; Dir::State::status "$apt/status"; Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "$apt/sources"; Dir::Etc::sourceparts "-"; Acquire::Languages "none"; APT::Sandbox::User "root";
Acquire::Check-Valid-Until "false";
END
  (cd repo && export APT_CONFIG=$apt/conf && apt-get update && apt-get download containerd) >apt.log 2>&1 || { cp apt.log out && fail "no containerd of Debian 13"; }
  for version in 1.17.8 1.18.0; do
    printf 'Package: nvidia-container-toolkit\nVersion: %s-1\nArchitecture: all\nMaintainer: lab <lab@lab.local>\nDescription: double\n' \
      "$version" >double/DEBIAN/control
    sed "s/version 1\.17\.8/version $version/" "$top/tests/lab/gpu-double/nvidia-ctk" >double/usr/bin/nvidia-ctk
    chmod 0755 double/usr/bin/nvidia-ctk
    dpkg-deb --build --root-owner-group double "repo/toolkit-$version.deb" >/dev/null
  done
  (cd repo && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
}

repository
lab up one &
first=$!
lab up two --gpu h200
together "the boot of a host" "$first"
"$top/tests/lib/lab-cluster" --control-planes 1 one two >cluster.yaml
for host in one two; do
  tar -cf - repo | on "$host" 'tar -C /srv -xf - && rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* && sed -i /Default-Release/d /etc/apt/apt.conf.d/* &&
    echo "deb [trusted=yes] file:/srv/repo ./" >/etc/apt/sources.list && apt-get update' >out 2>&1 || fail "no repository on $host"
done
on two 'apt-get install -y nvidia-container-toolkit=1.17.8-1 && apt-mark hold nvidia-container-toolkit' >out 2>&1 || fail "no toolkit"
exits 0 init -y --skip-phases gpu/device-plugin,gpu/offered
on two "printf '\n# theirs\n' >>/etc/containerd/config.toml"
admin() { on one "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s $(printf '%q ' "$@")"; }
node() { admin get node "$1" -o 'jsonpath={.status.nodeInfo.containerRuntimeVersion} {.spec.unschedulable}{.metadata.annotations.gpuadm\.io/upgrade}'; }
upgrade() { gpuadm upgrade -f cluster.yaml "$@"; }
# is NAME VERSION: the kubelet asks its runtime for its version once a minute.
is() {
  local deadline=$((SECONDS + 240))
  until node "$1" | grep >/dev/null -E "^containerd://$2\\.[^ ]* $"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "the node $1 is: $(node "$1")"
    sleep 2
  done
}

exits 2 upgrade --runtime --kubernetes-version 1.21.0 -y
exits 3 upgrade --runtime=9.9 -y
complains "no repository of this host has containerd 9.9"
# Without containers: the kubelet deletes those of the network test's pods some time after the pods.
rest_of() { lab snapshot "$1" | grep -v '^container k8s\.io ' | sort; }
rest_of two >before
exits 0 upgrade --runtime --toolkit --dry-run
says "containerd: 1.6.20"
says "nvidia-container-toolkit: 1.17.8-1 -> 1.18.0-1"
rest_of two | diff before - || fail "a dry run has changed the host"

# Only the worker; killed once its package is being installed.
begins upgrade two -f cluster.yaml --runtime --toolkit -y
in_phase 'upgrade/runtime:two' "$running" || fail "the runtime was not reached"
kill -KILL "$running"
wait "$running" || true
exits 0 upgrade two --runtime --toolkit -y
is two 1.7
is one 1.6
[ "$(on two nvidia-ctk --version)" = "NVIDIA Container Toolkit CLI version 1.18.0" ] || fail "the toolkit is old"
on two 'apt-mark showhold' | grep >/dev/null -x nvidia-container-toolkit || fail "the toolkit is not held any more"
on two "grep -q '^# theirs' /etc/containerd/config.toml" || fail "the configuration lost what is not gpuadm's"

exits 0 upgrade --runtime -y
is one 1.7
has_a_cluster one 2
exits 0 upgrade --runtime --toolkit -y
says "nothing to do"
