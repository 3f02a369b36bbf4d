#!/usr/bin/env bash
# `init` takes kubeadm, kubelet and kubectl from a package repository and images from a registry, both through `mirrors`. A minor version
# means the newest patch that the repository offers. A version that is not offered, a repository that another key signs, that serves
# HTML or does not answer, and a registry without an image are refused with the reason; a download that is cut off ends the run, and the
# next run completes it. `upgrade` installs the next patch, and `reset` removes the packages. The repository is made of the bundles'
# programs; with Kubernetes 1.20 crictl and CoreDNS are stand-ins (tests/lab/README.md).
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/packages.sh
. "$top/tests/lib/packages.sh"

needs_next_bundle
version=$(kubernetes_version) newest=$(version_of "$newer") minor=$(kubernetes_minor)
repository=$(lab repository)
deb="core:/stable:/v$minor/deb"
a_host node
names_a_server node
cp cluster.yaml host.yaml
wants() { { cat host.yaml && from_packages "$1"; } >cluster.yaml; } # wants VERSION
init() { gpuadm init -f cluster.yaml "$@"; }
# Links to the repository's files, for changes.
copy() { rm -rf changed; cp -al "$repository/packages" changed 2>/dev/null || cp -a "$repository/packages" changed; }
state() { on node 'find /etc /usr/bin /opt -printf "%p %m %s %T@\n" 2>/dev/null | sort; dpkg-query -W; ls /var/lib/gpuadm 2>/dev/null || :'; }
# refused WORD...: before anything changes, with each of the words.
refused() {
  local word status=0
  init -y >out 2>err </dev/null || status=$?
  case $status in 0 | 139) fail "exit status $status, and it is to be refused" ;; esac
  for word in "$@"; do cat out err | grep >/dev/null -F -- "$word" || fail "nothing says: $word"; done
  state | diff before - >changes || { cp changes out && fail "something was changed"; }
}
state >before
packages() { on node 'dpkg-query -W'; }
packages >packages.before
serve_registry "$repository/registry"

echo '== refused'
wants "$minor"
refused "http://$client:8080"
replaces 8080 "$top/tests/lib/page-server" "$client" 8080
refused "http://$client:8080"
copy
install -d -m 0700 "$place/g"
export GNUPGHOME=$place/g # gpg's agent listens in a folder whose name must not be long
gpg --batch --quiet --passphrase '' --quick-generate-key other@lab.local rsa3072 sign never 2>/dev/null
for file in InRelease Release.gpg; do rm "changed/$deb/$file"; done
gpg --batch --quiet --clearsign --output "changed/$deb/InRelease" "changed/$deb/Release"
gpg --batch --quiet --armor --detach-sign --output "changed/$deb/Release.gpg" "changed/$deb/Release"
serve_packages changed # what it says is its key has not signed it
refused "http://$client:8080"
rm "changed/$deb/Release.key"
gpg --batch --quiet --armor --export --output "changed/$deb/Release.key"
gpgconf --kill all
unset GNUPGHOME
refused "http://$client:8080" "$(cat "$repository/fingerprint")" # nor is it the key that is expected
serve_packages "$repository/packages"
wants "$minor.99"
refused "$minor.99" "$version" "$newest"
wants "1.$((${minor#1.} + 1))"
refused "1.$((${minor#1.} + 1))"

echo '== previewed'
wants "$minor"
exits 0 init --dry-run
says "$newest"
state | diff before - >out || fail "a dry run has changed something"

echo '== cut off'
wants "$version"
replaces 8080 "$top/tests/lib/dying-server" "$client" 8080 "$repository/packages" amd64/kubelet
exits 1 init -y
! kill -0 "${server_of[8080]}" 2>/dev/null || fail "the server was not asked for the kubelet"
grep -qE 'kubelet_' out err || fail "it does not say what could not be fetched"
on node '! command -v kubelet' >/dev/null || fail "the kubelet is there though its download was cut off"

echo '== a registry without an image'
serve_packages "$repository/packages"
cp -al "$repository/registry" lacking 2>/dev/null || cp -a "$repository/registry" lacking
rm -r lacking/docker/registry/v2/repositories/kube-scheduler
serve_registry "$place/lacking"
exits 1 init -y
grep -qF kube-scheduler out err || fail "it does not name the image"
[ "$(on node kubeadm version -o short)" = "v$version" ] || fail "kubeadm is another version"

echo '== completed'
serve_registry "$repository/registry"
on node ctr -n k8s.io images import - <"$bundle/images/sleep.tar" >out 2>err # for has_a_cluster
exits 0 init -y
has_a_cluster node
on node 'apt-mark showhold | sort | tr "\n" " "' >out 2>err
says "kubeadm kubectl kubelet"
exits 0 init -y
says "0 changed"

echo '== upgraded'
exits 3 gpuadm upgrade -f cluster.yaml --kubernetes-version "$minor.99" -y
cat out err | grep >/dev/null -F "$newest" || fail "it does not say which versions are offered"
wants "$newest"
exits 0 gpuadm upgrade -f cluster.yaml -y
[ "$(administer node get node node -o 'jsonpath={.status.nodeInfo.kubeletVersion}')" = "v$newest" ] || fail "the kubelet is the old one"
exits 0 init -y # the file for kubeadm names the new version
changes_nothing init -y

echo '== reset'
exits 0 gpuadm reset -f cluster.yaml -y
on node '! command -v kubelet kubeadm kubectl && [ ! -e /etc/apt/sources.list.d/kubernetes.list ]' >out 2>err || fail "reset left Kubernetes"
packages | diff packages.before - >out || fail "reset left packages"
