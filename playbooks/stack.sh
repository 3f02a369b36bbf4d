# shellcheck shell=sh disable=SC2154
# Functions of `gpuadm upgrade --runtime|--toolkit|--driver` (playbooks/upgrade-stack.yaml). They stand behind gpu.sh, runtime.sh and
# upgrade.sh. A part is runtime, toolkit or driver.

# --- What there is newer: asked before anything is planned -----------------------------------------------

# stack_look PART=WISH...: "PART PACKAGE INSTALLED NEWEST yes|no" a line for each part that the host has a package of; yes: there
# is something to be done. WISH: what the version begins with, or newest. Package lists are fetched into a folder that is removed
# again: nothing on the host is changed.
stack_look() {
  have apt-get || die "gpuadm upgrades runtime, toolkit and driver with apt, which this host does not have: do it with its own package manager, node by node: kubectl drain, upgrade, kubectl uncordon"
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
    say "its package lists could not be fetched: those that are there say what is newest"
  fi
  for stack_part in "$@"; do
    stack_package=$(stack_package_of "${stack_part%%=*}")
    [ -z "$stack_package" ] || stack_line "${stack_part%%=*}" "${stack_part#*=}"
  done
}

# stack_package_of PART: which package that is here; nothing: there is none.
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

# stack_line PART WISH
stack_line() {
  stack_old=$(stack_installed "$stack_package")
  case $1:$2 in
    driver:*) stack_new=$(driver_kernel_package) && stack_new=${stack_new#*=} ;;
    *:newest) stack_new=$(apt-cache policy "$stack_package" | awk '$1 == "Candidate:" { print $2 }') ;;
    *)
      stack_new=$(apt-cache madison "$stack_package" | awk -v wish="$2" '
        { version = $3; sub(/^[0-9]+:/, "", version) } index(version, wish) == 1 || index($3, wish) == 1 { print $3; exit }')
      [ -n "$stack_new" ] || die "no repository of this host has $stack_package $2; there are: $(apt-cache madison "$stack_package" | awk '{ print $3 }' | sort -u | head -n 5 | paste -sd' ')"
      ! dpkg --compare-versions "$stack_new" lt "$stack_old" || die "$stack_package $stack_new is older than $stack_old, which is installed: gpuadm does not go back"
      ;;
  esac
  [ -n "$stack_new" ] || die "apt does not say which version of $stack_package there is: apt-cache policy $stack_package"
  stack_work=no
  [ "$stack_old" = "$stack_new" ] || stack_work=yes
  case $1 in
    runtime) stack_runtime_is_new || stack_work=yes ;;
    driver) [ "$(driver_version)" = "$(upstream_of "$stack_new")" ] || stack_work=yes ;;
  esac
  printf '%s %s %s %s %s\n' "$1" "$stack_package" "${stack_old:--}" "$stack_new" "$stack_work"
}

# --- Steps -----------------------------------------------------------------------------------------------
# $stack_targets: "NODE PART PACKAGE VERSION" a line, of every node.

# stack_target PART: PACKAGE=VERSION of this node; nothing: there is none.
stack_target() {
  printf '%s\n' "$stack_targets" | awk -v node="$node_name" -v part="$1" '$1 == node && $2 == part { print $3 "=" $4 }'
}

# stack_is_installed PART
stack_is_installed() {
  stack_wanted=$(stack_target "$1")
  [ -z "$stack_wanted" ] || [ "$(stack_installed "${stack_wanted%%=*}")" = "${stack_wanted#*=}" ]
}

# stack_install PART [PACKAGE...]: with those of the packages that are there, which have the same version. Configuration stays as
# it is; what was held is held again.
stack_install() {
  stack_wanted=$(stack_target "$1")
  stack_held=$(apt-mark showhold)
  shift
  stack_all=$stack_wanted
  for package in "$@"; do
    [ -z "$(stack_installed "$package")" ] || stack_all="$stack_all $package=${stack_wanted#*=}"
  done
  # What dpkg lays beside a configuration that somebody has changed.
  for package in $stack_all; do
    for file in $(dpkg-query -W -f '${Conffiles}\n' "${package%%=*}" | awk '{ print $1 }'); do
      journal_for_others file "$file"
      journal_for_others file "$file.dpkg-dist"
    done
  done
  apt-get update >/dev/null 2>&1 || : "what is known already may do"
  # shellcheck disable=SC2086 # several
  packages_install -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold $stack_all
  for package in $stack_all; do
    ! printf '%s\n' "$stack_held" | grep -qxF "${package%%=*}" || apt-mark hold "${package%%=*}" >/dev/null
  done
}

# stack_runtime_is_new: the program that runs is the one that is installed.
stack_runtime_is_new() {
  unit_is_active "$engine.service" || return 1
  stack_pid=$(systemctl show --property MainPID --value "$engine.service")
  case $(readlink "/proc/$stack_pid/exe") in *' (deleted)') return 1 ;; esac
}

# --- The node --------------------------------------------------------------------------------------------

# For the functions of upgrade.sh: the nodes that are named have something to be done, whichever kubelet they run.
upgrade_runs_new() { return 1; }

# stack_is_ready NODE: said for who waits.
stack_is_ready() {
  stack_now=$(upgrade_kubectl get node "$1" -o \
    'jsonpath={.status.nodeInfo.containerRuntimeVersion} {.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}')
  say "$1: $stack_now"
  case $stack_now in *" True "*) ;; *) exit 1 ;; esac
}

# stack_has_returned NODE: a preview names nodes that are going to.
stack_has_returned() {
  [ "$gpuadm_step" != preview ] || exit 1
  stack_said=$(upgrade_note "$1") || exit 3
  [ -z "$stack_said" ] || exit 1
}
