#!/usr/bin/env bash
# playbooks/versions.sh prints the patches that a signed repository offers, refuses every other answer with its reason, and leaves the
# host's package manager as it was.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck source=tests/lib/apt-repository.sh
. "$top/tests/lib/apt-repository.sh"
needs apt-get dpkg gpg python3 curl
[ "$(id -u)" = 0 ] || skip "root is needed: apt's own folders are read"

fingerprint=$(signing_key keys/a kubernetes)
other=$(signing_key keys/b other)
www=$place/www
three() { printf '%s=%s ' kubeadm "$1" kubelet "$1" kubectl "$1"; }
# shellcheck disable=SC2046 # several
apt_repository "$www/core:/stable:/v1.36/deb" keys/a "$fingerprint" $(three 1.36.1-1.1) $(three 1.36.10-1.1) $(three 1.36.2-2.1) kubeadm=1.36.11-1.1
cp -r "$www/core:/stable:/v1.36" "$www/core:/stable:/v1.35"
export_key keys/b "$other" --armor >"$www/core:/stable:/v1.35/deb/Release.key"
mkdir -p "$www/core:/stable:/v1.34/deb"
echo '<html>Please log in</html>' >"$www/core:/stable:/v1.34/deb/Release.key"
cp -r "$www/core:/stable:/v1.36" "$www/core:/stable:/v1.33"
echo '<html>Please log in</html>' >"$www/core:/stable:/v1.33/deb/InRelease"

port=$((20000 + $$ % 12000))
python3 -m http.server --bind 127.0.0.1 --directory "$www" "$port" >/dev/null 2>server.log &
server=$!
trap 'kill "$server"; rm -rf "$place"' EXIT
for _ in $(seq 100); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  sleep 0.1
done

# offers MINOR [KEYS] [REPOSITORY]: as it is sent to a host.
offers() {
  local script
  script=$("$GPUADM" assets show playbooks/versions.sh)
  TMPDIR=$place/tmp in_step "kubernetes_repository=${3:-http://127.0.0.1:$port/core:/stable:} kubernetes_minor=$1 kubernetes_keys='${2:-$fingerprint}' \
    proxy_environment='' proxy_apt='' proxy_dnf=''
$no_curl$script"
}
mkdir tmp
no_curl=
state() { find /etc/apt /var/lib/apt /var/cache/apt -printf '%p %s %T@\n' 2>/dev/null | sort; }
state >before

exits 0 offers 1.36
says '1.36.1
1.36.10
1.36.2'
hides 1.36.11
exits 0 offers 1.36 "$other $fingerprint"
exits 23 offers 1.36 "$other"
complains "contains the key $fingerprint instead of $other"
exits 23 offers 1.35 "$other"
complains "v1.35/deb/ is not signed by the key next to it"
exits 24 offers 1.34
complains "v1.34/deb/Release.key is not a PGP public key: the response begins with '<html>Please log in"
exits 24 offers 1.33
complains "v1.33/deb/ is not a valid package repository"
exits 21 offers 1.99
complains "http://127.0.0.1:$port/core:/stable: has no Kubernetes 1.99: http://127.0.0.1:$port/core:/stable:/v1.99/deb/Release.key: curl: (22)"
exits 22 offers 1.36 "" http://127.0.0.1:1
complains "cannot reach http://127.0.0.1:1/v1.36/deb/Release.key"

# A key that has no end is not read to one.
mkdir -p "$www/core:/stable:/v1.32/deb"
head -c 3000000 /dev/zero >"$www/core:/stable:/v1.32/deb/Release.key"
exits 22 offers 1.32

# A host without curl.
# shellcheck disable=SC2016 # the step's own
no_curl='have() { [ "$1" != curl ] && command -v "$1" >/dev/null 2>&1; }
'
exits 0 offers 1.36
says 1.36.10
exits 22 offers 1.32
exits 21 offers 1.99
complains "has no Kubernetes 1.99: http://127.0.0.1:$port/core:/stable:/v1.99/deb/Release.key: E: "
exits 22 offers 1.36 "" http://127.0.0.1:1
complains "cannot reach http://127.0.0.1:1/v1.36/deb/Release.key"

state >after
diff before after || fail "the host's package manager is not what it was"
[ -z "$(ls -A tmp)" ] || fail "something is left in the temporary folder: $(ls -A tmp)"
