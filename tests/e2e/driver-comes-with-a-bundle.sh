#!/usr/bin/env bash
# The NVIDIA driver is installed from a bundle on a host without internet access: the packages of the driver, of the kernel's headers and of what builds
# modules, with all that they need, from a mirror of Debian's repositories. Debian's gcc, make and dkms are real, and build. The GPU on
# the PCI bus, the headers and the driver are doubles: a module of one line, its version, and the recorded nvidia-smi.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/mirror.sh
. "$top/tests/lib/mirror.sh"
kernel=$(uname -r) driver=580.159.04

# --- The mirror -----------------------------------------------------------------------------------------------------------------
# double NAME VERSION DEPENDS: the folder double/NAME becomes a package.
double() {
  mkdir -p "double/$1/DEBIAN"
  printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: lab <lab@lab.local>\n%sDescription: double\n' "$1" "$2" \
    "${3:+Depends: $3
}" >"double/$1/DEBIAN/control"
  dpkg-deb --build --root-owner-group "double/$1" "$debian/pool/$1_$2.deb" >/dev/null
}
# shellcheck disable=SC2016 # make's and sh's own
doubles() {
  local source=double/nvidia-open-kernel-dkms/usr/src/nvidia-$driver build=double/linux-headers-$kernel/lib/modules/$kernel/build
  mkdir -p "$build/include" "$source" double/nvidia-open-kernel-dkms/DEBIAN double/nvidia-smi/usr/{bin,local/share/nvidia-smi-double} \
    double/libcuda1/usr/lib/x86_64-linux-gnu double/libnvidia-ml1/usr/lib/x86_64-linux-gnu
  printf 'modules:\n\tgcc -c -o $(M)/nvidia.ko $(M)/nvidia.c\nclean:\n\trm -f $(M)/nvidia.ko\n' >"$build/Makefile"
  : >"$build/include/autoconf.h"
  double "linux-headers-$kernel" 1
  printf 'static const char version[] __attribute__((used, section(".modinfo"))) = "version=%s";\n' "$driver" >"$source/nvidia.c"
  cat >"$source/dkms.conf" <<END
PACKAGE_NAME="nvidia"
PACKAGE_VERSION="$driver"
BUILT_MODULE_NAME[0]="nvidia"
DEST_MODULE_LOCATION[0]="/updates/dkms"
MAKE[0]="make -C \$kernel_source_dir M=\$dkms_tree/nvidia/$driver/build modules"
CLEAN="make -C \$kernel_source_dir M=\$dkms_tree/nvidia/$driver/build clean"
AUTOINSTALL="yes"
END
  printf '#!/bin/sh\nset -e\n[ "$1" != configure ] || dkms install -m nvidia -v %s\n' "$driver" >double/nvidia-open-kernel-dkms/DEBIAN/postinst
  printf '#!/bin/sh\nset -e\ndkms remove -m nvidia -v %s --all\n' "$driver" >double/nvidia-open-kernel-dkms/DEBIAN/prerm
  chmod 0755 double/nvidia-open-kernel-dkms/DEBIAN/{postinst,prerm}
  double nvidia-open-kernel-dkms "$driver-1" dkms
  double nvidia-open-kernel-dkms 590.48.01-1 dkms # a newer branch, which is not asked for
  cp "$top"/tests/lab/gpu-double/{h200/*,help-query-gpu.txt} double/nvidia-smi/usr/local/share/nvidia-smi-double/
  install -m 0755 "$top/tests/lab/gpu-double/nvidia-smi" double/nvidia-smi/usr/bin/nvidia-smi
  double nvidia-smi "$driver-1" "libnvidia-ml1 (= $driver-1)"
  : >double/libcuda1/usr/lib/x86_64-linux-gnu/libcuda.so.1
  : >double/libnvidia-ml1/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1
  double libcuda1 "$driver-1" "libnvidia-ml1 (= $driver-1)"
  double libnvidia-ml1 "$driver-1"
}
# shellcheck disable=SC2086 # several
debian_packages gcc make dkms $programs
doubles
debian_releases
mirror_programs "$(lab image "$(lab fitting containerd)")"
mirror_serve

# --- The bundle -----------------------------------------------------------------------------------------------------------------
a_host node
printf 'gpu: { driver: install, driverBranch: 580 }\ncontrolPlane: { advertiseAddress: %s }\n' "$(lab address node)" >>cluster.yaml
# A GPU of the bus, where the machine has none.
on node 'mount -t tmpfs double /sys/bus/pci/devices && mkdir /sys/bus/pci/devices/0000:00:06.0 && cd /sys/bus/pci/devices/0000:00:06.0 &&
  echo 0x030200 >class && echo 0x10de >vendor && echo 0x2335 >device && echo 0x10de >subsystem_vendor && echo 0x18be >subsystem_device && echo 0 >numa_node'
# shellcheck disable=SC2016 # expanded on the host
release=$(on node '. /etc/os-release && echo "$ID-$VERSION_ID"')
gpuadm facts -f cluster.yaml -o json >facts.json
skip=coredns,crictl,cni,network,toolkit,device-plugin
exits 0 create --skip "$skip,driver" -o without.tar.zst
exits 0 create --skip "$skip" -o b.tar.zst
complains "signature is not verified: there is none"
complains "packages of"
exits 0 create --skip "$skip" -o again.tar.zst
cmp b.tar.zst again.tar.zst || fail "the same bundle has other bytes"
exits 0 "$GPUADM" bundle inspect b.tar.zst
says "packages-$release"
sed 's/"kernel": "[^"]*"/"kernel": "1.2.3-4-amd64"/' facts.json >other.json
exits 3 "$GPUADM" bundle create --for cluster.yaml,other.json --kubernetes-version "$version" --source "http://127.0.0.1:$web" --skip "$skip" -o c
complains "has linux-headers-1.2.3-4-amd64"
exits 2 "$GPUADM" bundle create --for cluster.yaml --kubernetes-version "$version" --source "http://127.0.0.1:$web" --skip "$skip" -o c
complains "but the GPUs"
stop

# --- A host that reaches nothing ------------------------------------------------------------------------------------------------
reaches_nothing node
export XDG_CACHE_HOME=$place/used
# Without what apt and dpkg note for themselves.
snapshot() { lab snapshot node | grep -vE '/var/lib/(apt/lists/auxfiles|dpkg/status-old)|time .*/etc/ld.so.cache' | sed -E 's/ActiveEnterTimestampMonotonic=[0-9]+//' | sort; }
snapshot >before
exits 1 gpuadm init -f cluster.yaml --bundle without.tar.zst --phases os/repositories,gpu/driver -y
says "the bundle has no packages of NVIDIA driver branch "
exits 0 gpuadm init -f cluster.yaml --bundle b.tar.zst --phases os/repositories,gpu/driver -y
nothing_left node
[ "$(on node modinfo -F version nvidia)" = "$driver" ] || fail "the module was not built"
on node 'apt-mark showhold' | grep >/dev/null -x nvidia-open-kernel-dkms || fail "the driver is not held"
on node nvidia-smi -L | grep >/dev/null H200 || fail "no driver"
changes_nothing gpuadm init -f cluster.yaml --bundle b.tar.zst --phases os/repositories,gpu/driver -y
# From 3.2 (Debian 13) on, dkms deletes depmod's index of a kernel without modules, such as the lab's.
index='^$'
if on node "dpkg --compare-versions \"\$(dpkg-query -W -f '\${Version}' dkms)\" ge 3.2"; then
  index='/lib/modules/[^/]+/modules\.' && leaves_out "depmod's index, which this dkms deletes"
fi
exits 0 gpuadm undo -f cluster.yaml --all -y
nothing_left node
on node '[ ! -e /var/lib/gpuadm/repository ] && ! modinfo nvidia' >out 2>&1 || fail "undo left the driver"
snapshot >after
diff <(grep -vE "$index" before) <(grep -vE "$index" after) || fail "undo left something"
