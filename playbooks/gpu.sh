# shellcheck shell=sh disable=SC2034,SC2154
# Functions for the steps in playbooks/gpu: the driver, the toolkit, CDI. Loaded after packages.sh.

# --- The driver ------------------------------------------------------------------------------------------

# driver_version: the version of the loaded module; empty if none is loaded.
driver_version() {
  cat /sys/module/nvidia/version 2>/dev/null || timeout 20 nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null |
    head -n 1
}

# driver_folders: the folders of its libraries, if the linker does not search them.
driver_folders() {
  ! ldconfig -p 2>/dev/null | grep -q 'libnvidia-ml\.so\.1' || return 0
  for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib /opt/nvidia/lib64 /opt/nvidia/lib /opt/nvidia-driver/lib64 \
    /run/nvidia/driver/usr/lib64 /run/nvidia/driver/usr/lib/*-linux-gnu; do
    [ ! -e "$folder/libnvidia-ml.so.1" ] || printf '%s\n' "$folder"
  done
}

# Programs of the driver that pods run. NVIDIA's toolkit injects these, if they are in PATH, and no others.
driver_programs="nvidia-smi nvidia-debugdump nvidia-cuda-mps-control nvidia-cuda-mps-server"

# driver_programs_elsewhere: paths of those programs that are not in PATH.
driver_programs_elsewhere() {
  for program in $driver_programs; do
    ! have "$program" || continue
    for folder in /usr/local/nvidia/bin /opt/nvidia/bin /opt/nvidia-driver/bin /run/nvidia/driver/usr/bin; do
      [ ! -x "$folder/$program" ] || { printf '%s\n' "$folder/$program" && break; }
    done
  done
}

toolkit_is_whole() { have nvidia-ctk && packages_are_whole nvidia-container-toolkit nvidia-container-toolkit-base; }
# toolkit_is_offered: whether the host's package lists have the toolkit's version.
toolkit_is_offered() {
  apt-cache madison nvidia-container-toolkit | awk -v version="$toolkit_version-1" '$3 == version { found = 1 } END { exit !found }'
}

# gpuadm_screen_is_open CARD: a program has it or nvidia-modeset open, or that is not known.
gpuadm_screen_is_open() {
  open_files | awk -v card="$(file_number "$1")" '
    $1 == "whole" { whole = 1 }
    $2 " " $3 == card || $2 " " $3 == "c c3:fe" { found = 1 }
    END { exit !(found || !whole) }'
}
# gpus_with_a_screen: PCI slots of NVIDIA GPUs that drive the display of a graphical session. The text console is not one: only a program
# that has the device open keeps the driver in use.
gpus_with_a_screen() {
  for card in /sys/class/drm/card*-*; do
    [ "$(cat "$card/status" "$card/enabled" 2>/dev/null | paste -sd' ')" = "connected enabled" ] || continue
    device=$(readlink -f "$card/../device")
    [ "$(cat "$device/vendor" 2>/dev/null)" = 0x10de ] || continue
    gpuadm_card=${card##*/}
    ! gpuadm_screen_is_open "/dev/dri/${gpuadm_card%%-*}" || printf '%s\n' "${device##*/}"
  done | sort -u
}

# driver_is_branch: whether the running driver has the desired branch or, if an upgrade specifies a version, that version.
driver_is_branch() {
  gpuadm_wanted=$(driver_wanted)
  case $gpuadm_wanted in
    '') case $(driver_version) in "$driver_branch".*) ;; *) return 1 ;; esac ;;
    *) [ "$(driver_version)" = "$(upstream_of "$gpuadm_wanted")" ] ;;
  esac
}
# driver_wanted: the package version that an upgrade specifies for this node.
driver_wanted() { printf '%s\n' "${stack_targets:-}" | awk -v node="${node_name:-}" '$1 == node && $2 == "driver" { print $4 }'; }
# driver_is_offered: whether the host's package lists contain it.
driver_is_offered() {
  gpuadm_offered=$(driver_kernel_package) || return 1
  gpuadm_wanted=$(driver_wanted)
  [ -z "$gpuadm_wanted" ] || [ "${gpuadm_offered#*=}" = "$gpuadm_wanted" ]
}
# upstream_of VERSION: the upstream version of a package version.
upstream_of() {
  gpuadm_version=${1#*:}
  printf '%s\n' "${gpuadm_version%%-*}"
}

# driver_awaits_reboot: whether the kernel will load the driver at the next boot, and why it does not load it now. If it would not
# load it then either, the kernel's messages are the reason.
driver_awaits_reboot() {
  gpuadm_built=$(modinfo -F version nvidia 2>/dev/null | head -n 1)
  case $gpuadm_built in
    "$driver_branch".*) ;;
    *)
      say "kernel $(uname -r) has no nvidia module of branch $driver_branch${gpuadm_built:+ (found: $gpuadm_built)}"
      return 1
      ;;
  esac
  gpuadm_wanted=$(driver_wanted)
  if [ -n "$gpuadm_wanted" ] && [ "$gpuadm_built" != "$(upstream_of "$gpuadm_wanted")" ]; then
    say "the installed nvidia module is $gpuadm_built instead of $(upstream_of "$gpuadm_wanted")"
    return 1
  fi
  for gpuadm_module in nvidia nouveau nova_core; do
    [ -d "/sys/module/$gpuadm_module" ] || continue
    say "the loaded module $gpuadm_module is in use; the installed driver ($gpuadm_built) is loaded at the next boot"
    return 0
  done
  modprobe nvidia 2>&1 | tail -n 2 >&2 || :
  dmesg 2>/dev/null | grep -E 'NVRM|nvidia' | tail -n 3 >&2 || :
  return 1
}

# package_of_branch WHAT: the first of its names ($driver_names) that a repository has for the branch, as NAME=VERSION.
package_of_branch() {
  for gpuadm_name in $(printf '%s\n' "$driver_names" | sed -n "s/^$1 //p" | sed "s/BRANCH/$driver_branch/g"); do
    gpuadm_version=$(from_packages apt-cache madison "$gpuadm_name" 2>/dev/null | awk -v branch="$driver_branch" '
      { version = $3; sub(/^[0-9]+:/, "", version) } index(version, branch ".") == 1 { print $3; exit }')
    [ -z "$gpuadm_version" ] || {
      printf '%s=%s\n' "$gpuadm_name" "$gpuadm_version"
      return 0
    }
  done
  return 1
}

# preferences_are_nvidias FILE: apt preferences, which no key signs, may only rank packages of NVIDIA's repository and exclude Ubuntu's
# nsight. A mirror could otherwise keep apt from installing security updates.
preferences_are_nvidias() {
  awk '
    function stanza_ends() {
      if (package priority pin == "") return
      if (package == "" || priority !~ /^-?[0-9]+$/ || priority + 0 > 990) bad = 1
      if (pin != "release l=NVIDIA CUDA" && package !~ /^nsight-[a-z0-9.*-]+$/) bad = 1
      package = pin = priority = ""
    }
    /^$/ { stanza_ends(); next }
    /^#/ || /^Explanation: / { next }
    /^Package: / && package == "" { package = substr($0, 10); next }
    /^Pin: / && pin == "" { pin = substr($0, 6); next }
    /^Pin-Priority: / && priority == "" { priority = substr($0, 15); next }
    { bad = 1 }
    END { stanza_ends(); exit bad }' "$1"
}

# cuda_repository_put URL LIST: adds NVIDIA's repository to apt as LIST. URL is the package cuda-keyring in that repository, whose
# checksum is not known in advance: its key and its apt preferences are extracted as files, and none of its scripts is run.
cuda_repository_put() (
  key=usr/share/keyrings/cuda-archive-keyring.gpg priorities=etc/apt/preferences.d/cuda-repository-pin-600
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT
  fetch_small "$1" 60 "$stage/deb" ||
    die "cannot fetch $1, and the host's repositories do not have driver branch $driver_branch: check the host's proxy, add contrib and non-free, or choose another branch with --driver install=BRANCH"
  [ "$(dpkg-deb -f "$stage/deb" Package 2>/dev/null)" = cuda-keyring ] || die "$1 is not the package cuda-keyring: check the mirror and the host's proxy"
  for file in "$key" "$priorities"; do
    { dpkg-deb --fsys-tarfile "$stage/deb" | tar -xOf - "./$file" | head -c 1048576 >"$stage/${file##*/}"; } 2>/dev/null || : "there is none"
  done
  [ -s "$stage/${key##*/}" ] || die "$1 does not contain the key of NVIDIA's repository: check the mirror and the host's proxy"
  key_is_accepted "$stage/${key##*/}" "$1" "$cuda_keys"
  preferences_are_nvidias "$stage/${priorities##*/}" ||
    die "$1 contains apt preferences for packages of other repositories: check the mirror and the host's proxy"
  for file in "$key" "$priorities"; do
    [ -s "$stage/${file##*/}" ] || continue
    bundle_sha256=$(sha256_of "$stage/${file##*/}")
    (file_install "/$file" 0644 <"$stage/${file##*/}")
  done
  content="deb [signed-by=/$key] ${1%/*}/ /
"
  file_put "$2" 0644
  source_update "$2" || die "${1%/*} is not a valid repository of the NVIDIA driver: check the mirror and the host's proxy"
)

# The kernel modules as sources for DKMS.
driver_kernel_package() { package_of_branch "$driver_modules"; }
# driver_packages: those modules, and the packages that compute programs need, without a desktop; one NAME=VERSION per line.
driver_packages() {
  driver_kernel_package || die "no repository of this host has the kernel modules of driver branch $driver_branch"
  package_of_branch smi || die "no repository of this host has nvidia-smi of driver branch $driver_branch"
  package_of_branch cuda || die "no repository of this host has libcuda.so of driver branch $driver_branch"
  package_of_branch ml || : "part of the one above"
  package_of_branch persistence || :
}
driver_fabric_package() { package_of_branch fabric; }

# --- Test build of the modules for the running kernel, outside of everything that is installed -----------------------

driver_rehearsed() { [ "$(cat "$gpuadm_home/rehearsed" 2>/dev/null)" = "$kernel $(driver_kernel_package)" ]; }
driver_rehearse() {
  package=$(driver_kernel_package)
  stage=$gpuadm_home/rehearsal
  trap 'rm -rf "$stage"' EXIT
  rm -rf "$stage"
  mkdir -p "$stage/tree"
  cd "$stage" || return 1
  # The sources of the open modules may be in a separate package of the same version.
  # shellcheck disable=SC2046 # none or one
  from_packages apt-get download "$package" $(from_packages apt-cache depends "${package%%=*}" | awk '/Depends: nvidia-kernel-source/ { print $2 }') >/dev/null 2>&1 ||
    die "cannot fetch $package: check the host's proxy and its package repositories"
  for archive in ./*.deb; do dpkg-deb -x "$archive" root; done
  conf=$(find root/usr/src -name dkms.conf | head -n 1)
  [ -n "$conf" ] || die "$package contains no DKMS sources"
  folder=$(basename "$(dirname "$conf")")
  name=$(sed -n 's/^PACKAGE_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$conf")
  version=$(sed -n 's/^PACKAGE_VERSION="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$conf")
  [ "$folder" = "$name-$version" ] || mv "root/usr/src/$folder" "root/usr/src/$name-$version"
  # DKMS creates a signing key if none exists.
  for file in /var/lib/dkms/mok.key /var/lib/dkms/mok.pub; do journal_for_others file "$file"; done
  dkms build -m "$name" -v "$version" -k "$kernel" --dkmstree "$stage/tree" --sourcetree "$stage/root/usr/src" >"$stage/said" 2>&1 || {
    log=$(find "$stage/tree" -name make.log | head -n 1)
    grep -nE 'error|Error|ERROR' "${log:-$stage/said}" | tail -n 8 >&2 || tail -n 8 "$stage/said" >&2
    die "the modules of $package do not build for kernel $kernel, and nothing was changed: choose another branch with --driver install=BRANCH"
  }
  printf '%s\n' "$kernel $package" >"$gpuadm_home/rehearsed"
}

# --- Secure Boot -----------------------------------------------------------------------------------------

# The kernel loads only modules that are signed with a key that the firmware trusts.
driver_can_be_loaded() {
  have mokutil && mokutil --sb-state 2>/dev/null | grep -q 'SecureBoot enabled' || return 0
  for key in /var/lib/shim-signed/mok/MOK.der /var/lib/dkms/mok.pub; do
    [ -f "$key" ] || continue
    ! mokutil --test-key "$key" 2>/dev/null | grep -q 'is already enrolled' || return 0
    die "Secure Boot is enabled, and the module signing key is not enrolled: run mokutil --import $key, reboot, choose 'Enroll MOK' on the console, then run again"
  done
  die "Secure Boot is enabled, and no module signing key exists: run dkms generate_mok and mokutil --import /var/lib/dkms/mok.pub, reboot, choose 'Enroll MOK' on the console, then run again"
}

# --- MIG -------------------------------------------------------------------------------------------------

# mig_unit SLOTS STATE: sets $path and $content of the unit that recreates MIG instances at boot, because they do not survive a
# reboot (NVIDIA's MIG user guide). It runs before any program lists the GPUs, and skips GPUs that have instances.
mig_unit() {
  path=/etc/systemd/system/gpuadm-mig.service
  content="# Written by gpuadm.
[Unit]
Description=Divide GPUs into MIG instances
After=systemd-modules-load.service nvidia-persistenced.service nvidia-fabricmanager.service
Before=nvidia-cdi-refresh.service gpuadm-cdi.service kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=300
$(for slot in $1; do
    printf 'ExecStart=/bin/sh -c "nvidia-smi mig -i %s -lgi | grep -q MIG.[0-9] || { nvidia-smi -i %s -mig 1 && nvidia-smi mig -i %s -cgi %s -C; }"\n' \
      "$slot" "$slot" "$slot" "${2#on }"
  done)

[Install]
WantedBy=multi-user.target
"
}

# --- Quarantine ------------------------------------------------------------------------------------------

# quarantine_file LINES: sets $path and $content of the list of GPUs that pods do not get.
quarantine_file() {
  path=/etc/gpuadm/quarantine
  content="# Written by gpuadm: GPUs that pods do not get. gpuadm gpu release HOST GPU offers one again.
$1"
}

# taint_rule_is NAME DEVICE: whether the DeviceTaintRule has this "DRIVER POOL DEVICE EFFECT"; DEVICE empty: whether there is none, as
# if the API server does not serve DeviceTaintRules.
taint_rule_is() {
  taint_now=$(node_kubectl get devicetaintrules.resource.k8s.io "$1" --ignore-not-found \
    -o 'jsonpath={.spec.deviceSelector.driver} {.spec.deviceSelector.pool} {.spec.deviceSelector.device} {.spec.taint.effect}' 2>/dev/null) || {
    taint_said=$(node_kubectl get devicetaintrules.resource.k8s.io "$1" --ignore-not-found -o name 2>&1) && exit 3
    case $taint_said in
      *"the server doesn't have a resource type"*) taint_now='' ;;
      *)
        say "cannot read the DeviceTaintRule $1: $taint_said"
        exit 3
        ;;
    esac
  }
  [ "$taint_now" = "$2" ] || exit 1
}
# taint_rule_put NAME DEVICE
taint_rule_put() {
  if [ -z "$2" ]; then
    node_kubectl delete devicetaintrules.resource.k8s.io "$1" --ignore-not-found >/dev/null
    return
  fi
  case $1$2 in *[!A-Za-z0-9.\ -]*) die "invalid name of a device: $2" ;; esac
  # The version that the API server prefers for them.
  taint_api=$(node_kubectl api-resources --api-group=resource.k8s.io --no-headers |
    awk '$1 == "devicetaintrules" { for (i = 2; i <= NF; i++) if ($i ~ /^resource\.k8s\.io\//) print $i }')
  [ -n "$taint_api" ] || die "the API server does not serve DeviceTaintRules: enable the feature gates DRADeviceTaints and DRADeviceTaintRules"
  # shellcheck disable=SC2086 # four words
  set -- "$1" $2
  printf '{"apiVersion":"%s","kind":"DeviceTaintRule","metadata":{"name":"%s","labels":{"app.kubernetes.io/managed-by":"gpuadm"}},"spec":{"deviceSelector":{"driver":"%s","pool":"%s","device":"%s"},"taint":{"key":"gpuadm.io/quarantine","effect":"%s"}}}\n' \
    "$taint_api" "$1" "$2" "$3" "$4" "$5" | node_kubectl apply -f - >/dev/null
}

# --- The toolkit -----------------------------------------------------------------------------------------

# toolkit_packages: the packages of the bundle that belong to the toolkit. Packages of earlier bundles are ignored.
toolkit_packages() {
  for sum in $bundle_packages; do
    file=$gpuadm_home/packages/$sum
    case $(dpkg-deb -f "$file" Package 2>/dev/null) in *nvidia-container*) printf '%s\n' "$file" ;; esac
  done
}

# --- CDI -------------------------------------------------------------------------------------------------

# The path unit and the service unit: the toolkit's own units if it has them.
cdi_units() {
  for unit in nvidia-cdi-refresh gpuadm-cdi; do
    systemctl cat "$unit.path" >/dev/null 2>&1 || continue
    printf '%s.path\n%s.service\n' "$unit" "$unit"
    return 0
  done
  die "no systemd unit generates the CDI specification"
}

# cdi_names_programs FILE: whether it injects the programs that gpu.driver.programs has linked.
cdi_names_programs() {
  for program in $driver_programs; do
    [ ! -L "/usr/local/bin/$program" ] || grep -q "/usr/local/bin/$program" "$1" || return 1
  done
}
# Whether a specification is of the running driver.
cdi_is_fresh() {
  version=$(driver_version)
  [ -n "$version" ] || die "no NVIDIA driver is loaded on this host: install one, or run gpuadm init --driver install"
  for file in /run/cdi/*.yaml /etc/cdi/*.yaml /run/cdi/*.json /etc/cdi/*.json; do
    [ ! -f "$file" ] || ! grep -q 'nvidia.com/gpu' "$file" || ! grep -q "so\.$version" "$file" ||
      ! cdi_names_programs "$file" || return 0
  done
  return 1
}

# --- NVIDIA's device plugin: objects for each layout; NVIDIA's DRA driver: a DaemonSet for each driver root ---

# node_label_values KEY: of all nodes, a line each. KEY as in a JSONPath. Fails if the API server does not respond.
node_label_values() {
  kube --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s get nodes \
    -o "jsonpath={range .items[*]}{.metadata.labels.$1}{\"\\n\"}{end}"
}
# plugin_needed: the objects of the layouts of this run's hosts and of those in the labels of the nodes, on one line.
plugin_needed() {
  gpuadm_layouts=$(node_label_values 'gpuadm\.io/device-plugin') || return 1
  gpuadm_own=$(manifest_objects device-plugin) || return 1
  {
    printf '%s\n' "$gpuadm_own"
    printf '%s\n' "$gpuadm_layouts" | sort -u | while read -r gpuadm_layout; do
      [ -n "$gpuadm_layout" ] || continue
      gpuadm_end=-$gpuadm_layout
      [ "$gpuadm_layout" != exclusive ] || gpuadm_end=
      printf '%s\n' "configmap/nvidia-device-plugin-config-$gpuadm_layout" "daemonset.apps/nvidia-device-plugin$gpuadm_end" \
        "daemonset.apps/nvidia-mps-control-daemon$gpuadm_end"
    done
  } | sort -u | tr '\n' ' '
}
# plugin_unused: objects of layouts that no node has. Fails if the API server does not respond.
plugin_unused() {
  gpuadm_needed=$(plugin_needed) || return 1
  cluster_objects_unused 'nvidia-(device-plugin|mps-control-daemon)' "$gpuadm_needed"
}

# dra_needed: the DaemonSets of this run's driver roots and of those in the labels of the nodes, on one line.
dra_needed() {
  gpuadm_roots=$(node_label_values 'gpuadm\.io/driver-root') || return 1
  gpuadm_own=$(manifest_objects dra-driver) || return 1
  printf '%s\n' "$gpuadm_roots" "$gpuadm_own" |
    sed -n -e '/\//!s|^..*|daemonset.apps/nvidia-dra-driver-&|p' -e '/^daemonset/p' | sort -u | tr '\n' ' '
}
# dra_unused: DaemonSets of driver roots that no node uses. Fails if the API server does not respond.
dra_unused() {
  gpuadm_needed=$(dra_needed) || return 1
  cluster_objects_unused nvidia-dra-driver "$gpuadm_needed"
}
