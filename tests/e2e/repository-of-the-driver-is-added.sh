#!/usr/bin/env bash
# A host whose own repositories lack the driver's branch gets NVIDIA's, from a mirror: of the package that comes with it the key is
# taken, nothing of it is run or installed, and anything that is not such a package is rejected. The repository and its key are doubles.
. "$(dirname "$0")/common"

client=10.77.0.1 driver=580.159.04
case $(lab fitting bare) in trixie-*) system=debian13 ;; *) system=debian12 ;; esac
folder=mirror/$system/x86_64
mkdir -p "$folder" double/{DEBIAN,usr/share/keyrings,etc/apt/{sources.list.d,preferences.d}}
# gpg's agent listens in a folder whose name must not be long.
export GNUPGHOME=$place/g
mkdir -m 0700 g
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || :; done; gpgconf --kill all; lab down --all; rm -rf "$place"' EXIT
gpg --batch --quiet --passphrase '' --quick-generate-key lab@lab.local ed25519 sign never 2>/dev/null
gpg --batch --quiet --export lab@lab.local >double/usr/share/keyrings/cuda-archive-keyring.gpg
echo 'deb http://elsewhere.lab/ /' >double/etc/apt/sources.list.d/cuda.list
printf 'Package: *\nPin: release l=NVIDIA CUDA\nPin-Priority: 600\n' >double/etc/apt/preferences.d/cuda-repository-pin-600
# keyring NAME: a package of that name, called as the catalog says.
keyring() {
  printf 'Package: %s\nVersion: 1.1-1\nArchitecture: all\nMaintainer: lab <lab@lab.local>\nDescription: double\n' "$1" >double/DEBIAN/control
  printf '#!/bin/sh\n: >/run/was-run\n' >double/DEBIAN/postinst
  chmod 0755 double/DEBIAN/postinst
  dpkg-deb --build --root-owner-group double "$folder/cuda-keyring_1.1-1_all.deb" >/dev/null
}
mkdir -p dkms/DEBIAN
printf 'Package: nvidia-open-kernel-dkms\nVersion: %s-1\nArchitecture: amd64\nMaintainer: lab <lab@lab.local>\nDescription: double\n' "$driver" >dkms/DEBIAN/control
dpkg-deb --build --root-owner-group dkms "$folder/nvidia-open-kernel-dkms.deb" >/dev/null
signs() {
  (cd "$folder" && dpkg-scanpackages . 2>/dev/null >Packages &&
    printf 'Label: NVIDIA CUDA\nSHA256:\n %s %s Packages\n' "$(sha256sum <Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" |
    gpg --batch --quiet --clearsign >InRelease)
}

a_host node
names_a_server node
cat >>cluster.yaml <<END
kubernetes: { version: "$(kubernetes_version)" }
gpu: { driver: install, driverBranch: 580 }
mirrors:
  packages: { nvidiaDriver: "http://$client:8080" }
END
on node 'mount -t tmpfs double /sys/bus/pci/devices && mkdir /sys/bus/pci/devices/0000:00:06.0 && cd /sys/bus/pci/devices/0000:00:06.0 &&
  echo 0x030200 >class && echo 0x10de >vendor && echo 0x2335 >device && echo 0x10de >subsystem_vendor && echo 0x18be >subsystem_device && echo 0 >numa_node'
on node 'rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*; find /etc/apt /usr/share/keyrings | sort' >before
serves 30 8080 python3 -m http.server --bind "$client" --directory mirror 8080
list=/etc/apt/sources.list.d/cuda-$system-x86_64.list
runs() { gpuadm init -f cluster.yaml --phases gpu/driver -y; }

keyring other
signs
exits 1 runs
says "http://$client:8080/$system/x86_64/cuda-keyring_1.1-1_all.deb is not the package cuda-keyring"
head -c 2000000 /dev/zero >"$folder/cuda-keyring_1.1-1_all.deb"
exits 1 runs
says "is larger than 1 MiB"
# The mirror has its own key: it is accepted only if it is in the cluster file.
keyring cuda-keyring
signs
key=$(gpg --batch --with-colons --list-keys lab@lab.local 2>/dev/null | awk -F: '$1 == "fpr" { print $10; exit }')
exits 1 runs
says "contains the key $key instead of EB693B3035CD5710E231E123A4B469963BF863CC"
says "set mirrors.packageKeys in the cluster file"
on node "[ ! -e $list ] && [ ! -e /usr/share/keyrings/cuda-archive-keyring.gpg ]" || fail "the key or the list is there"
printf '  packageKeys: { nvidiaDriver: %s }\n' "$key" >>cluster.yaml
# A repository that another key signs does not stay with apt.
sed -i 's/^Label: .*/Label: changed/' "$folder/InRelease"
exits 1 runs
says "http://$client:8080/$system/x86_64 is not a valid repository of the NVIDIA driver"
on node "[ ! -e $list ]" || fail "apt is left with it"

signs
exits 1 runs
hides "is not a valid repository"
says "the headers of the running kernel" # the step behind
[ "$(on node cat $list)" = "deb [signed-by=/usr/share/keyrings/cuda-archive-keyring.gpg] http://$client:8080/$system/x86_64/ /" ] || fail "the list is another"
for file in usr/share/keyrings/cuda-archive-keyring.gpg etc/apt/preferences.d/cuda-repository-pin-600; do
  on node cat "/$file" | cmp - "double/$file" || fail "/$file is another"
done
on node '[ ! -e /run/was-run ] && ! dpkg -s cuda-keyring' >out 2>&1 || fail "the package was installed"
exits 0 gpuadm undo -f cluster.yaml --all -y
on node 'find /etc/apt /usr/share/keyrings | sort' >after
diff before after || fail "undo left something"
