# shellcheck shell=sh disable=SC2154
# Everything that gpuadm does with packages by a package manager's own commands, loaded after prelude.sh. A package manager has
# functions of these names; data that follows a name in the journal is its own:
#   MANAGER_now NAME               "absent", its state and version, or "unknown" if the packages cannot be read
#   MANAGER_has VERSION NAME...    they are installed in that version, a pattern, and are not upgraded automatically
#   MANAGER_install VERSION NAME...  installs them like that; all changes are journaled
#   MANAGER_add NAME...            they are installed with their dependencies; all changes are journaled
#   MANAGER_restore NAME STATE     a state that MANAGER_now printed
#   MANAGER_versions               the versions of Kubernetes that its repositories offer, one per line; those of apt and dnf are in versions.sh
#   MANAGER_remove NAME...         packages that were not installed before; no other packages are removed with them

package_manager() { if have dpkg-query; then echo apt; else echo dnf; fi; }
package_now() { "$(package_manager)_now" "$1"; }
packages_have_version() { "$(package_manager)_has" "$@"; }
packages_install_version() { "$(package_manager)_install" "$@"; }
packages_install() { "$(package_manager)_add" "$@"; }

# packages_are_all REMOVED NAME...: ends the step if a package in REMOVED is not among the others.
packages_are_all() {
  gpuadm_removed=$1
  shift
  for gpuadm_package in $gpuadm_removed; do
    case " $* " in
      *" $gpuadm_package "*) ;;
      *) die "$gpuadm_package depends on packages that gpuadm installed ($*): remove it first, or keep both" ;;
    esac
  done
}

# --- apt -------------------------------------------------------------------------------------------------

apt_now() {
  gpuadm_rc=0
  gpuadm_is=$(dpkg-query -W -f '${db:Status-Abbrev}${Version}' "$1" 2>/dev/null) || gpuadm_rc=$?
  case $gpuadm_rc:$gpuadm_is in
    0:?n* | 1:*) echo absent ;; # 1: dpkg does not know the name
    0:*) printf '%s\n' "$gpuadm_is" ;;
    *) echo unknown ;;
  esac
}

apt_has() {
  gpuadm_version=$1
  shift
  for gpuadm_package in "$@"; do
    # shellcheck disable=SC2254 # a pattern
    case $(apt_now "$gpuadm_package") in hi\ $gpuadm_version) ;; *) return 1 ;; esac
  done
}

apt_install() {
  gpuadm_version=$1
  shift
  for gpuadm_package in "$@"; do journal_package "$gpuadm_package"; done
  apt-get update >/dev/null || : "what is known already may do"
  # shellcheck disable=SC2046 # a word a package
  apt_add $(printf "%s=$gpuadm_version " "$@")
  apt-mark hold "$@" >/dev/null
}

# from_packages COMMAND...: runs an apt command with only the bundle's packages, if the bundle has any ($package_source).
from_packages() {
  if [ "${package_source:-}" = bundle ]; then
    [ -e "$gpuadm_home/repository/sum" ] || die "the packages of the bundle are not on this host: run the phase os/repositories first"
    APT_CONFIG=$gpuadm_home/repository/apt.conf "$@"
  else
    "$@"
  fi
}

# apt_changes COMMAND...: the names of the packages that it would install or remove. Fails, with the message of apt-get on stderr, if apt-get
# does not know them: then they would be missing in the journal.
apt_changes() {
  gpuadm_changes=$(from_packages apt-get -s "$@") || return
  printf '%s\n' "$gpuadm_changes" | awk '$1 == "Inst" || $1 == "Remv" || $1 == "Purg" { print $2 }'
}

# Options of apt-get and NAME=VERSION are accepted, too.
apt_add() {
  gpuadm_added=$(apt_changes install --no-install-recommends --allow-change-held-packages "$@") || return
  for package in $gpuadm_added; do journal_package "$package"; done
  DEBIAN_FRONTEND=noninteractive from_packages apt-get install -y --no-install-recommends --allow-change-held-packages "$@" </dev/null
}

apt_restore() {
  gpuadm_version=${2#???}
  case $(apt_now "$1") in
    ?i\ "$gpuadm_version") ;;
    *)
      # shellcheck disable=SC2046 # several
      DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends --allow-downgrades \
        --allow-change-held-packages $(undo_packages_beside "$1" "$2") </dev/null
      ;;
  esac
  case $2 in h*) apt-mark hold "$1" ;; *) apt-mark unhold "$1" ;; esac >/dev/null
}

# Nothing is fetched, so a default release that no package list contains is ignored. A package that was removed, and not purged, before
# gpuadm installed it keeps its configuration files.
apt_remove() {
  # What an interrupted run has removed may not be in any package list.
  # shellcheck disable=SC2046 # a word a package
  set -- $(for gpuadm_package in "$@"; do [ "$(apt_now "$gpuadm_package")" = absent ] || printf '%s\n' "$gpuadm_package"; done)
  gpuadm_removed=$(package_source='' apt_changes purge -o APT::Default-Release= "$@") || return
  packages_are_all "$gpuadm_removed" "$@"
  apt-mark unhold "$@" >/dev/null 2>&1 || :
  DEBIAN_FRONTEND=noninteractive apt-get remove -y -o APT::Default-Release= "$@" </dev/null
  for gpuadm_package in "$@"; do
    undo_package_is_gone "$gpuadm_package" || DEBIAN_FRONTEND=noninteractive dpkg --purge "$gpuadm_package" </dev/null
  done
}

# --- dnf -------------------------------------------------------------------------------------------------

# One line, also with several architectures. In a database that cannot be read no package is found, not even rpm.
dnf_now() {
  if gpuadm_is=$(rpm -q "$1" 2>/dev/null); then
    printf '%s\n' "$gpuadm_is" | paste -sd' ' -
  elif rpm -q rpm >/dev/null 2>&1; then
    echo absent
  else
    echo unknown
  fi
}

dnf_has() {
  gpuadm_version=$1
  shift
  for gpuadm_package in "$@"; do [ -n "$(rpm -qa "$gpuadm_package-$gpuadm_version")" ] || return 1; done
}

dnf_install() {
  gpuadm_version=$1
  shift
  # shellcheck disable=SC2046 # a word a package
  dnf_add --disableexcludes=kubernetes $(printf "%s-$gpuadm_version " "$@")
}

# dnf_changes COMMAND...: the names of the packages that it would change, from the table of dnf 4 and 5: a line " NAME ARCH VERSION" for each,
# and indented lines "replacing NAME.ARCH VERSION" (dnf 5: without .ARCH) for those that it removes. A long name has a line of its own.
# Fails, with the message of dnf on stderr, if dnf printed no table although there is something to do: then they would be missing in the
# journal. A table that was answered with no has an exit status other than 0.
dnf_changes() {
  gpuadm_errors=$(mktemp)
  gpuadm_rc=0
  gpuadm_changes=$(dnf "$@" --assumeno --setopt=debuglevel=2 --setopt=color=never </dev/null 2>"$gpuadm_errors") || gpuadm_rc=$?
  case $gpuadm_changes in *"Transaction Summary"*) gpuadm_rc=0 ;; esac
  [ "$gpuadm_rc" -eq 0 ] || cat "$gpuadm_errors" >&2
  rm -f "$gpuadm_errors"
  [ "$gpuadm_rc" -eq 0 ] || return "$gpuadm_rc"
  printf '%s\n' "$gpuadm_changes" | awk '
    /^Transaction Summary/ { summary = 1 }
    summary { next }
    /^ [^ ]/ && $1 != "Package" { print $1 }
    $1 == "replacing" { sub(/\.(noarch|x86_64|aarch64|i686)$/, "", $2); print $2 }'
}

# Options of dnf and NAME-VERSION are accepted, too.
dnf_add() {
  gpuadm_added=$(dnf_changes install "$@") || return
  for gpuadm_package in $gpuadm_added; do journal_package "$gpuadm_package"; done
  dnf install -y "$@" </dev/null
}

dnf_restore() {
  # A package that another has replaced is installed instead of it.
  gpuadm_verb=downgrade
  [ "$(dnf_now "$1")" != absent ] || gpuadm_verb='install --allowerasing'
  # shellcheck disable=SC2086 # two words; one for each architecture
  dnf $gpuadm_verb -y $2 </dev/null
}

dnf_remove() {
  gpuadm_removed=$(dnf_changes remove --noautoremove "$@") || return
  packages_are_all "$gpuadm_removed" "$@"
  dnf remove -y --noautoremove "$@" </dev/null
}
