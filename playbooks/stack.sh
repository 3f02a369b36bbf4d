# shellcheck shell=sh disable=SC2154
# Functions of `gpuadm upgrade --runtime|--toolkit|--driver` (playbooks/upgrade-stack.yaml), loaded after gpu.sh, runtime.sh and
# upgrade.sh. A part is runtime, toolkit or driver.

# --- Newer versions, read before the plan is made --------------------------------------------------------

# stack_look PART=REQUEST...: one line "PART PACKAGE INSTALLED NEWEST yes|no" for each part that has a package on the host; yes: an
# upgrade is needed. REQUEST is a version prefix, or newest. Package lists are fetched into a temporary folder, and nothing on the host
# is changed.
stack_look() {
  have apt-get || die "upgrading the runtime, toolkit or driver requires apt, which this host does not have: upgrade node by node with its own package manager (kubectl drain, upgrade, kubectl uncordon)"
  stack_lists=$(mktemp -d)
  trap 'rm -rf "$stack_lists"' EXIT
  mkdir -p "$stack_lists/lists/partial"
  cat >"$stack_lists/conf" <<END
Dir::State::lists "$stack_lists/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
Acquire::http::Timeout "15";
Acquire::Retries "1";
APT::Update::Error-Mode "any";
APT::Sandbox::User "root";
END
  if APT_CONFIG=$stack_lists/conf limit_of 120 apt-get update >/dev/null 2>&1; then
    export APT_CONFIG="$stack_lists/conf"
  else
    say "cannot update the package lists: the existing ones determine the newest version"
  fi
  for stack_part in "$@"; do
    stack_package=$(stack_package_of "${stack_part%%=*}")
    [ -z "$stack_package" ] || stack_line "${stack_part%%=*}" "${stack_part#*=}"
  done
}

# stack_package_of PART: the package on this host; empty if there is none.
stack_package_of() {
  case $1 in
    runtime)
      stack_program=$engine
      [ "$engine" != docker ] || stack_program=dockerd
      stack_program=$(command -v "$stack_program") || return 0
      dpkg-query -S "$(readlink -f "$stack_program")" 2>/dev/null | sed -n '1s/:.*//p'
      ;;
    toolkit) case $(package_now nvidia-container-toolkit) in [hi]i\ *) echo nvidia-container-toolkit ;; esac ;;
    driver)
      stack_program=$(driver_kernel_package) || return 0
      printf '%s\n' "${stack_program%%=*}"
      ;;
  esac
}

stack_installed() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || :; }

# stack_line PART REQUEST
stack_line() {
  stack_old=$(stack_installed "$stack_package")
  case $1:$2 in
    driver:*) stack_new=$(driver_kernel_package) && stack_new=${stack_new#*=} ;;
    *:newest) stack_new=$(apt-cache policy "$stack_package" | awk '$1 == "Candidate:" { print $2 }') ;;
    *)
      stack_new=$(apt-cache madison "$stack_package" | awk -v prefix="$2" '
        { version = $3; sub(/^[0-9]+:/, "", version) } index(version, prefix) == 1 || index($3, prefix) == 1 { print $3; exit }')
      [ -n "$stack_new" ] || die "no repository of this host has $stack_package $2; available: $(apt-cache madison "$stack_package" | awk '{ print $3 }' | sort -u | head -n 5 | paste -sd' ')"
      ! dpkg --compare-versions "$stack_new" lt "$stack_old" || die "$stack_package $stack_new is older than the installed $stack_old: downgrades are not supported"
      ;;
  esac
  [ -n "$stack_new" ] || die "apt has no candidate version of $stack_package: run apt-cache policy $stack_package"
  stack_work=no
  [ "$stack_old" = "$stack_new" ] || stack_work=yes
  case $1 in
    runtime) stack_runtime_is_new || stack_work=yes ;;
    driver) [ "$(driver_version)" = "$(upstream_of "$stack_new")" ] || stack_work=yes ;;
  esac
  printf '%s %s %s %s %s\n' "$1" "$stack_package" "${stack_old:--}" "$stack_new" "$stack_work"
}

# --- Steps -----------------------------------------------------------------------------------------------
# $stack_targets: one line "NODE PART PACKAGE VERSION" for each part of each node.

# stack_target PART: PACKAGE=VERSION of this node; empty if there is none.
stack_target() {
  printf '%s\n' "$stack_targets" | awk -v node="$node_name" -v part="$1" '$1 == node && $2 == part { print $3 "=" $4 }'
}

# stack_is_installed PART
stack_is_installed() {
  stack_wanted=$(stack_target "$1")
  [ -z "$stack_wanted" ] || [ "$(stack_installed "${stack_wanted%%=*}")" = "${stack_wanted#*=}" ]
}

# stack_install PART [PACKAGE...]: also upgrades those of the packages that are installed, which have the same version.
# Held packages are held again.
stack_install() {
  stack_wanted=$(stack_target "$1")
  stack_held=$(apt-mark showhold)
  shift
  stack_all=$stack_wanted
  for package in "$@"; do
    [ -z "$(stack_installed "$package")" ] || stack_all="$stack_all $package=${stack_wanted#*=}"
  done
  # dpkg writes a copy next to a modified configuration file.
  for package in $stack_all; do
    for file in $(dpkg-query -W -f '${Conffiles}\n' "${package%%=*}" | awk '{ print $1 }'); do
      journal_for_others file "$file"
      journal_for_others file "$file.dpkg-dist"
    done
  done
  apt_update 2>/dev/null || : "what is known already may do"
  # shellcheck disable=SC2086 # several
  packages_install $stack_all
  for package in $stack_all; do
    ! printf '%s\n' "$stack_held" | grep -qxF "${package%%=*}" || apt-mark hold "${package%%=*}" >/dev/null
  done
}

# stack_runtime_is_new: the running program is the installed one.
stack_runtime_is_new() {
  unit_is_active "$engine.service" || return 1
  stack_pid=$(systemctl show --property MainPID --value "$engine.service")
  case $(readlink "/proc/$stack_pid/exe") in *' (deleted)') return 1 ;; esac
}

# --- The node --------------------------------------------------------------------------------------------

# Overrides upgrade.sh: the specified nodes need an upgrade regardless of the version of their kubelet.
upgrade_runs_new() { return 1; }

# stack_is_ready NODE: its output is shown while waiting.
stack_is_ready() {
  stack_now=$(upgrade_kubectl get node "$1" -o \
    'jsonpath={.status.nodeInfo.containerRuntimeVersion} {.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}')
  say "$1: $stack_now"
  case $stack_now in *" True "*) ;; *) exit 1 ;; esac
}

# stack_has_returned NODE: a preview lists the nodes that will be uncordoned.
stack_has_returned() {
  [ "$gpuadm_step" != preview ] || exit 1
  stack_said=$(upgrade_note "$1") || exit 3
  [ -z "$stack_said" ] || exit 1
}
