#!/usr/bin/env bash
# The toolkit's packages of a bundle are installed: those of this bundle, with the sums that it says, and nothing that earlier ones have
# left on the host. The packages are doubles; what they install is the lab's nvidia-ctk.
. "$(dirname "$0")/common"

mkdir -p b/packages
cp -al "$bundle"/{bin,images} b/ 2>/dev/null || cp -a "$bundle"/{bin,images} b/
cp "$bundle/manifest.yaml" b/
# double NAME VERSION PROGRAM FILE
double() {
  mkdir -p work/DEBIAN work/usr/bin
  printf 'Package: %s\nVersion: %s-1\nArchitecture: all\nMaintainer: lab <lab@lab.local>\nDescription: double\n' "$1" "$2" >work/DEBIAN/control
  rm -f work/usr/bin/*
  install -m 0755 "$top/tests/lab/gpu-double/nvidia-ctk" "work/usr/bin/$3"
  dpkg-deb --build --root-owner-group work "$4" >/dev/null
}
double nvidia-container-toolkit 1.19.1 nvidia-ctk b/packages/toolkit.deb
double libnvidia-container-tools 1.19.1 nvidia-container-cli b/packages/tools.deb
for file in b/packages/*; do
  printf '  - { path: %s, kind: package, os: debian, sha256: %s }\n' "${file#b/}" "$(sha256sum <"$file" | cut -d' ' -f1)" >>b/manifest.yaml
done
toolkit=$(sha256sum <b/packages/toolkit.deb | cut -d' ' -f1)
# Of an earlier bundle, and of one that did not arrive.
double nvidia-container-toolkit 1.2.3 nvidia-ctk old.deb
double nvidia-container-toolkit-base 1.2.3 nvidia-ctk-of-old base.deb
old=$(sha256sum <old.deb | cut -d' ' -f1)

a_host node --gpu h200
packages=/var/lib/gpuadm/packages
on node mkdir -p $packages
on node "cat >$packages/$old" <old.deb
on node "cat >$packages/$(sha256sum <base.deb | cut -d' ' -f1)" <base.deb
on node "cat >$packages/$old.new" <old.deb
# A file with this bundle's checksum as its name, but another checksum.
on node "cat >$packages/$toolkit" <old.deb

exits 0 gpuadm init -f cluster.yaml --bundle "$PWD/b" --phases gpu/toolkit -y
[ "$(on node dpkg-query -W -f "'\${Package} \${Version};'" "'*nvidia-container*'")" = \
  "libnvidia-container-tools 1.19.1-1;nvidia-container-toolkit 1.19.1-1;" ] || fail "other packages: $(on node dpkg-query -W "'*nvidia-container*'")"
on node "[ \$(sha256sum <$packages/$toolkit | cut -d' ' -f1) = $toolkit ]" || fail "the package is another"
changes_nothing gpuadm init -f cluster.yaml --bundle "$PWD/b" --phases gpu/toolkit -y
exits 0 gpuadm undo -f cluster.yaml --all -y
on node '! command -v nvidia-ctk' >out || fail "undo left the toolkit"

# A bundle without the toolkit: what an earlier one has left is not taken for it.
on node mkdir -p $packages
on node "cat >$packages/$old" <old.deb
exits 3 init --phases gpu/toolkit -y
complains "nct.installed: the NVIDIA Container Toolkit is not installed, and the bundle does not contain it"
complains "nothing was changed"
exits 3 gpuadm doctor -f cluster.yaml --bundle "$bundle" --only nct.installed
says "the NVIDIA Container Toolkit is not installed, and the bundle does not contain it"
