#!/usr/bin/env bash
# bundle create takes the driver's packages from repositories whose release is signed as it must be, whose indices and packages have
# the checksums in it, and whose files are below them; anything that may be a forgery is rejected by name.
. "$(dirname "$0")/common"
needs gpg gpgv xz python3
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY
export GNUPGHOME=$place/gnupg XDG_CACHE_HOME=$place/cache
mkdir -m 0700 gnupg
gpg --batch --quiet --passphrase '' --quick-generate-key lab@lab.local ed25519 sign never 2>/dev/null
gpg --batch --quiet --passphrase '' --quick-generate-key other@lab.local ed25519 sign never 2>/dev/null
gpg --batch --quiet --export lab@lab.local >keyring.gpg
trap 'gpgconf --kill all; rm -rf "$place"' EXIT

debian=mirror/deb.lab/debian release=mirror/deb.lab/debian/dists/bookworm
mkdir -p "$debian/pool" "$release/main/binary-amd64" assets/data
cat >assets/data/system-repositories.yaml <<END
debian: [ { url: "https://deb.lab/debian", suites: ["{codename}"], components: [main, contrib], keyring: $place/keyring.gpg } ]
END
cat >facts.json <<'END'
{ "node": { "os": { "id": "debian", "versionId": "12", "codename": "bookworm", "pretty": "Debian 12", "family": "debian", "architecture": "x86_64", "kernel": "6.1.0-1-amd64" },
  "nvidia": { "pci": [ { "slot": "0000:00:06.0", "deviceId": "2335", "class": "0302" } ] } } }
END
# packages [DEPENDS]: the index; index, signs [KEY]: of the current files.
packages() {
  local name
  for name in linux-headers-6.1.0-1-amd64 gcc make dkms nvidia-open-kernel-dkms nvidia-smi libcuda1; do
    printf '%s' "$name" >"$debian/pool/$name.deb"
    printf 'Package: %s\nVersion: 580.1-1\nDepends: %s\nFilename: pool/%s.deb\nSize: %s\nSHA256: %s\n\n' "$name" "${1:-gcc}" "$name" "${#name}" \
      "$(sha256sum <"$debian/pool/$name.deb" | cut -d' ' -f1)"
  done
}
index() { xz >"$release/main/binary-amd64/Packages.xz"; }
signs() {
  printf 'Origin: lab\nSHA256:\n %s %s main/binary-amd64/Packages.xz\n' "$(sha256sum <"$release/main/binary-amd64/Packages.xz" | cut -d' ' -f1)" \
    "$(stat -c %s "$release/main/binary-amd64/Packages.xz")" | gpg --batch --quiet --local-user "${1:-lab@lab.local}" --clearsign >"$release/InRelease"
}
create() { rm -rf cache && "$GPUADM" --assets assets bundle create --for facts.json --kubernetes-version 1.36.4 --driver install=580 --source mirror --skip coredns -o b; }

# Everything is as it must be, up to kubeadm, which this mirror does not have.
packages | index
signs
exits 2 create
complains "debian-12: 7 packages of"
complains "no such file in the source (for https://dl.k8s.io/"
hides "not verified"

sed 's/^Origin: lab$/Origin: evil/' "$release/InRelease" >changed && mv changed "$release/InRelease"
exits 1 create
complains "https://deb.lab/debian/dists/bookworm/InRelease is not signed by a key of $place/keyring.gpg"
complains "BADSIG: the text is not what was signed"
signs other@lab.local
exits 1 create
complains "is not signed by a key of"
# Of a key that is in the keyring and has expired, was revoked, or has said for how long its signature holds.
then=20200101T000000
gpg --batch --quiet --faked-system-time $then --passphrase '' --quick-generate-key expired@lab.local ed25519 sign 1d 2>/dev/null
gpg --batch --quiet --passphrase '' --quick-generate-key revoked@lab.local ed25519 sign never 2>/dev/null
gpg --batch --quiet --faked-system-time $then --passphrase '' --quick-generate-key lasting@lab.local ed25519 sign never 2>/dev/null
cp keyring.gpg good.gpg
signs revoked@lab.local
cp "$release/InRelease" revoked
signs_then() { gpg --batch --quiet --faked-system-time $then "$@" --clearsign <text >signed 2>/dev/null; }
gpg --batch --quiet --output text --decrypt revoked 2>/dev/null
signs_then --local-user expired@lab.local && mv signed expired
signs_then --local-user lasting@lab.local --default-sig-expire 1d && mv signed short
# In addition to a good one, as in a release that its predecessor's key also signs.
signs_then --local-user lasting@lab.local --local-user expired@lab.local && mv signed both
sed 's/^:--/--/' "gnupg/openpgp-revocs.d/$(gpg --batch --with-colons --list-keys revoked@lab.local | awk -F: '$1 == "fpr" { print $10; exit }').rev" |
  gpg --batch --quiet --import 2>/dev/null
gpg --batch --quiet --export lab@lab.local expired@lab.local revoked@lab.local lasting@lab.local >keyring.gpg
while read -r name word; do
  cp "$name" "$release/InRelease"
  exits 1 create
  complains "https://deb.lab/debian/dists/bookworm/InRelease is not signed by a key of $place/keyring.gpg"
  complains "$word"
done <<'END'
expired EXPKEYSIG: the key has expired
revoked REVKEYSIG: the key was revoked
short EXPSIG: the signature has expired
END
cp both "$release/InRelease"
exits 2 create
complains "debian-12: 7 packages of"
mv good.gpg keyring.gpg
signs
packages | sed 's/^Version: .*/Version: 580.2-1/' | index
exits 1 create
complains "main/binary-amd64/Packages.xz: its SHA-256 is"
signs
packages | sed 's,^Filename: pool/gcc.deb,Filename: ../../gcc.deb,' | index
signs
exits 1 create
complains "the package 'gcc' has the file '../../gcc.deb', which is not below its repository"
packages | index
printf 'GCC' >"$debian/pool/gcc.deb"
signs
exits 1 create
complains "pool/gcc.deb"
packages 'gcc, nowhere (>= 2)' | index
signs
exits 3 create
complains "needs nowhere (>= 2), which no repository has"
packages | sed 's/nvidia-smi/other-smi/' | index
signs
exits 3 create
complains "node: no repository of debian-12 has nvidia-smi of the driver branch 580"
printf '<html>\n' >"$release/InRelease"
exits 1 create
complains "https://deb.lab/debian/dists/bookworm: no SHA-256 or SHA-512 of any index"

# What comes over http is taken where its signature can be verified here.
port=$((20000 + $$ % 6000))
packages | index
signs
python3 -m http.server --bind 127.0.0.1 --directory mirror/deb.lab "$port" >server.log 2>&1 &
server=$!
trap 'kill "$server"; gpgconf --kill all; rm -rf "$place"' EXIT
for _ in $(seq 100); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  sleep 0.1
done
public() { "$GPUADM" --assets assets bundle create --for facts.json --kubernetes-version 1.36.4 --driver install=580 --skip coredns -o b; }
sed -i "s,https://deb.lab,http://127.0.0.1:$port,; s,keyring.gpg,no-keyring.gpg," assets/data/system-repositories.yaml
exits 3 public
complains "InRelease was fetched over http, and its signature cannot be verified"
complains "install gpgv and the keyring $place/no-keyring.gpg"
sed -i 's/"id": "debian"/"id": "mint"/' facts.json
exits 2 create
complains "the repositories of Debian 12 are unknown"
