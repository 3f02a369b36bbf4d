# shellcheck shell=sh disable=SC2154,SC2034
# Functions for the steps of playbooks/fix.yaml, loaded after prelude.sh and sysctl.sh.

# --- Modules: loaded now and at boot ---------------------------------------------------------------------

modules_file() {
  path=/etc/modules-load.d/gpuadm-$1.conf
  content='# Written by gpuadm doctor --fix.
'
  shift
  for gpuadm_module in "$@"; do
    content="$content$gpuadm_module
"
  done
}

# modules_kept NAME MODULE...
modules_kept() {
  modules_file "$@"
  gpuadm_kept=0
  printf %s "$content" | file_keeps "$path" || gpuadm_kept=1
  shift
  for gpuadm_module in "$@"; do
    [ "$(thing_now module "$gpuadm_module")" = loaded ] || gpuadm_kept=1
  done
  return "$gpuadm_kept"
}

# modules_keep NAME MODULE...: a module that fails to load is not configured for boot.
modules_keep() {
  modules_file "$@"
  shift
  for gpuadm_module in "$@"; do
    journal_module "$gpuadm_module"
    modprobe "$gpuadm_module"
  done
  file_is "$path" 0644 >/dev/null || file_put "$path" 0644
}

# --- Units: running, now and at boot ---------------------------------------------------------------------

unit_exists() { systemctl cat "$1" >/dev/null 2>&1; }
unit_is_on() {
  if unit_is_active "$1" && unit_is_enabled "$1" 2>/dev/null; then return 0; fi
  return 1
}
# unit_on UNIT: a running unit is not restarted.
unit_on() {
  journal_unit "$1"
  unit_is_enabled "$1" 2>/dev/null || systemctl enable --quiet "$1"
  unit_is_active "$1" || systemctl start "$1" ||
    die "$1 failed to start: $(journalctl -u "$1" -n 5 --no-pager -o cat 2>/dev/null)"
}

# --- Files -----------------------------------------------------------------------------------------------

# file_rewrite PATH: replaces the content with stdin; the mode is kept.
file_rewrite() {
  content=$(cat && printf x)
  content=${content%x}
  file_put "$1" "0$(stat -L -c %a "$1" 2>/dev/null || echo 644)"
}

# hosts_with ADDRESS NAME: /etc/hosts with that line, before any other line with the name.
hosts_with() {
  address=$1 name=$2 awk '
    {
      held[NR] = text = $0
      sub(/#.*/, "", text)
      count = split(text, word, " ")
      for (i = 2; i <= count; i++)
        if (word[i] == ENVIRON["name"]) {
          if (!first) first = NR
          if (word[1] == ENVIRON["address"]) there = 1
        }
    }
    END {
      line = ENVIRON["address"] " " ENVIRON["name"]
      for (i = 1; i <= NR; i++) {
        if (i == first && !there) print line
        print held[i]
      }
      if (!first) print line
    }' /etc/hosts
}

# commented_out EXTENDED-REGEX FILE WORDS: FILE with the matching lines commented out; WORDS is the reason.
commented_out() { sed -E "\\,^[^#]*($1),s/^/# gpuadm: $3: /" "$2"; }

# --- Packages --------------------------------------------------------------------------------------------

# loose_packages: packages that pods depend on and that apt may upgrade at any time.
loose_packages() {
  dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' kubelet kubeadm kubectl 'containerd*' docker.io docker-ce \
    'nvidia-driver*' 'nvidia-headless*' 'nvidia-fabricmanager*' 'libnvidia-compute*' cuda-drivers nvidia-open 2>/dev/null |
    awk '$1 == "ii" { print $2 }'
}

# --- Network ---------------------------------------------------------------------------------------------

# plugin_files: files of network plugins in /etc/cni/net.d, without those of podman and CRI-O.
plugin_files() {
  for gpuadm_file in /etc/cni/net.d/*.conf /etc/cni/net.d/*.conflist; do
    case ${gpuadm_file##*/} in
      *'*'*) ;;
      *flannel* | *calico* | *cilium* | *weave* | *antrea* | *kuberouter* | *kube-router* | *canal*)
        printf '%s\n' "$gpuadm_file" ;;
    esac
  done
}

# --- Devices and runtimes --------------------------------------------------------------------------------

# device_number NODE: "195:255".
device_number() { printf '%d:%d\n' "0x$(stat -c %t "$1")" "0x$(stat -c %T "$1")"; }

# cdi_files: the existing specifications of the toolkit, or the one to create.
cdi_files() {
  gpuadm_any=
  for gpuadm_file in /etc/cdi/nvidia.yaml /run/cdi/nvidia.yaml; do
    [ ! -f "$gpuadm_file" ] || gpuadm_any="$gpuadm_any $gpuadm_file"
  done
  printf '%s\n' "${gpuadm_any:-/etc/cdi/nvidia.yaml}"
}

# crictl_settings: /etc/crictl.yaml with containerd's socket; other settings are kept.
crictl_settings() {
  for gpuadm_key in runtime image; do
    printf '%s-endpoint: unix:///run/containerd/containerd.sock\n' "$gpuadm_key"
  done
  grep -Ev '^(runtime|image)-endpoint:' /etc/crictl.yaml 2>/dev/null || :
}
