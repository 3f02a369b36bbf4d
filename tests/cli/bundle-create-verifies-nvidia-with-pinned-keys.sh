#!/usr/bin/env bash
# bundle create takes NVIDIA's packages only from repositories that are signed by the pinned key: a mirror that has replaced the key, the
# signature, the index or a package is refused, unless the cluster file lists the mirror's key.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/apt-repository.sh
. "$top/tests/lib/apt-repository.sh"
needs gpg gpgv dpkg-deb xz
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY
export XDG_CACHE_HOME=$place/cache
home=$place/keys
trap 'gpgconf --homedir "$home" --kill all; rm -rf "$place"' EXIT
own=$(signing_key "$home" nvidia rsa3072) other=$(signing_key "$home" other)
pinned=$("$GPUADM" assets show playbooks/catalog.yaml | sed -n 's/^ *toolkit_key_fingerprints: *//p')
version=$("$GPUADM" assets show playbooks/catalog.yaml | sed -n 's/^ *toolkit_version: *"\(.*\)"/\1/p')

toolkit=mirror/nvidia.github.io/libnvidia-container
packages=$toolkit/stable/deb/amd64
mkdir -p "$packages"
cluster() { # cluster [TOOLKIT-KEYS [DRIVER-KEYS]]
  printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: node, address: 192.0.2.1 }]\n' >cluster.yaml
  [ -z "${1:-}" ] || printf 'mirrors: { packageKeys: { nvidiaContainerToolkit: "%s", nvidiaDriver: "%s" } }\n' "$1" "${2:-$1}" >>cluster.yaml
}
cat >facts.json <<'END'
{ "node": { "os": { "id": "debian", "versionId": "12", "codename": "bookworm", "pretty": "Debian 12", "family": "debian", "architecture": "x86_64", "kernel": "6.1.0-1-amd64" },
  "nvidia": { "pci": [ { "slot": "0000:00:06.0", "deviceId": "2335", "class": "0302" } ] } } }
END
stanza() { # stanza FOLDER NAME FILE VERSION
  printf '%s' "$2" >"$1/$3"
  printf 'Package: %s\nVersion: %s\nFilename: ./%s\nSize: %s\nSHA256: %s\n\n' "$2" "$4" "$3" "$(stat -c %s "$1/$3")" "$(sha256sum <"$1/$3" | cut -d' ' -f1)"
}
index() {
  local name
  for name in libnvidia-container1 libnvidia-container-tools nvidia-container-toolkit-base nvidia-container-toolkit; do
    stanza "$packages" "$name" "${name}_$version-1_amd64.deb" "$version-1"
  done >"$packages/Packages"
}
# signs FOLDER KEY [SECTION]: as NVIDIA does, with SHA-512 alone for the toolkit.
signs() {
  printf 'Origin: lab\n%s:\n %s %s Packages\n' "${3:-SHA512}" "$("${3:-SHA512}" "$1/Packages")" "$(stat -c %s "$1/Packages")" >text
  gpg --homedir "$home" --batch --quiet --yes --local-user "$2" --clearsign --output "$1/InRelease" text 2>/dev/null
}
SHA512() { sha512sum <"$1" | cut -d' ' -f1; }
SHA256() { sha256sum <"$1" | cut -d' ' -f1; }
create() {
  rm -rf cache
  "$GPUADM" bundle create --for cluster.yaml,facts.json --kubernetes-version 1.36.4 --source mirror --skip kubernetes,crictl,cni,runtime,programs,coredns "$@" -o b
}
# Everything is in order up to kubeadm, which this mirror does not have.
is_accepted() {
  exits 2 create "$@"
  complains "no such file in the source (for https://dl.k8s.io/"
}

index
signs "$packages" "$own"
export_key "$home" "$own" --armor >"$toolkit/gpgkey"
cluster "$own"
is_accepted
hides "not verified"
signs "$packages" "$own" SHA256
is_accepted

# The mirror's own key is not the pinned one.
cluster
exits 1 create
complains "contains the key $own instead of $pinned"
cluster "$own"
export_key "$home" "$other" --armor >"$toolkit/gpgkey"
signs "$packages" "$other"
exits 1 create
complains "contains the key $other instead of $own"
cat "$toolkit/gpgkey" >both
export_key "$home" "$own" --armor >>both
cp both "$toolkit/gpgkey"
exits 1 create
complains "contains the key $other instead of $own"
export_key "$home" "$own" --armor >"$toolkit/gpgkey"
exits 1 create
complains "InRelease is not signed by a key of https://nvidia.github.io/libnvidia-container/gpgkey"
cp "$packages/Packages" "$packages/InRelease"
exits 1 create
complains "https://nvidia.github.io/libnvidia-container/stable/deb/amd64/InRelease is not signed"
rm "$packages/InRelease"
exits 2 create
complains "no such file in the source (for https://nvidia.github.io/libnvidia-container/stable/deb/amd64/InRelease)"
signs "$packages" "$own"
sed -i 's/^Origin: lab/Origin: Lab/' "$packages/InRelease"
exits 1 create
complains "BADSIG: the text is not what was signed"
echo '<html>' >"$toolkit/gpgkey"
exits 1 create
complains "is not a PGP public key"
export_key "$home" "$own" --armor >"$toolkit/gpgkey"

# The index, and a package.
for section in SHA512 SHA256; do
  index
  signs "$packages" "$own" "$section"
  sed -i 's/^Version: \(.\)/Version: 9/' "$packages/Packages"
  exits 1 create
  complains "stable/deb/amd64/Packages: its SHA-"
done
index
signs "$packages" "$own"
printf 'another text' >"$packages/nvidia-container-toolkit_$version-1_amd64.deb"
exits 1 create
complains "nvidia-container-toolkit_$version-1_amd64.deb"

# The driver, which Debian's repositories do not have here: NVIDIA's repository has its key in the package cuda-keyring.
index
signs "$packages" "$own"
debian=mirror/deb.lab/debian/dists/bookworm driver=mirror/developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64
mkdir -p "$debian/main/binary-amd64" "$driver" assets/data keyring/DEBIAN keyring/usr/share/keyrings
printf 'debian: [ { url: "https://deb.lab/debian", suites: [bookworm], components: [main] } ]\n' >assets/data/system-repositories.yaml
pool=mirror/deb.lab/debian
for name in linux-headers-6.1.0-1-amd64 gcc make dkms; do stanza "$pool" "$name" "$name.deb" 1; done | xz >"$debian/main/binary-amd64/Packages.xz"
printf 'SHA256:\n %s %s main/binary-amd64/Packages.xz\n' "$(SHA256 "$debian/main/binary-amd64/Packages.xz")" "$(stat -c %s "$debian/main/binary-amd64/Packages.xz")" >"$debian/InRelease"
for name in nvidia-open-kernel-dkms nvidia-smi libcuda1; do stanza "$driver" "$name" "$name.deb" 580.1-1; done >"$driver/Packages"
keyring() { # keyring KEY
  export_key "$home" "$1" >keyring/usr/share/keyrings/cuda-archive-keyring.gpg
  printf 'Package: cuda-keyring\nVersion: 1.1-1\nArchitecture: all\nMaintainer: lab <lab@lab.local>\nDescription: key\n' >keyring/DEBIAN/control
  dpkg-deb --build --root-owner-group keyring "$driver/cuda-keyring_1.1-1_all.deb" >/dev/null
}
with_driver=(--assets assets --driver install=580)
keyring "$own"
signs "$driver" "$own" SHA256
is_accepted "${with_driver[@]}"
complains "debian-12: 7 packages of"
cluster "$own" "$other"
exits 1 create "${with_driver[@]}"
complains "cuda-keyring_1.1-1_all.deb contains the key $own instead of $other"
keyring "$other"
exits 1 create "${with_driver[@]}"
complains "debian12/x86_64/InRelease is not signed by a key of"
signs "$driver" "$other" SHA256
is_accepted "${with_driver[@]}"
printf 'no package' >"$driver/cuda-keyring_1.1-1_all.deb"
exits 1 create "${with_driver[@]}"
complains "does not contain the key of NVIDIA's repository"
rm "$driver/cuda-keyring_1.1-1_all.deb"
exits 2 create "${with_driver[@]}"
complains "no such file in the source (for https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb)"
