# shellcheck shell=sh disable=SC2154
# Everything that gpuadm does with packages by a package manager's own commands, loaded after prelude.sh. A package manager has
# functions of these names; data that follows a name in the journal is its own:
#   MANAGER_now NAME               "absent", its state and version, or "unknown" if the packages cannot be read
#   MANAGER_has VERSION NAME...    they are installed in that version, a pattern, and are not upgraded automatically
#   MANAGER_install VERSION NAME...  installs them like that; all changes are journaled
#   MANAGER_add NAME...            they are installed with their dependencies; all changes are journaled
#   MANAGER_whole NAME             it is not installed, or completely
#   MANAGER_restore NAME STATE     a state that MANAGER_now printed
#   MANAGER_cannot NAME STATE      why that state cannot be restored now; nothing if it can
#   MANAGER_versions               the versions of Kubernetes that its repositories offer, one per line; those of apt and dnf are in versions.sh
#   MANAGER_removed NAME...        the packages that would be removed with these
#   MANAGER_remove NAME...         packages that were not installed before; no other packages are removed with them

package_manager() { if have dpkg-query; then echo apt; else echo dnf; fi; }
package_now() { "$(package_manager)_now" "$1"; }
packages_have_version() { "$(package_manager)_has" "$@"; }
packages_install_version() { "$(package_manager)_install" "$@"; }
packages_install() { "$(package_manager)_add" "$@"; }
packages_are_whole() { for gpuadm_package in "$@"; do "$(package_manager)_whole" "$gpuadm_package" || return 1; done; }

# packages_record CHANGES NAME...: journals what MANAGER_changes printed for these names. An installed package that is not among the names and
# that is upgraded with them is not restored by undo: something else may need its new version, such as a security update of a library.
packages_record() {
  gpuadm_added=$1
  shift
  for package in $gpuadm_added; do
    if [ "${package#-}" != "$package" ]; then
      journal_package "${package#-}"
    elif package_is_among "$package" "$@" || ! package_is_installed "$package"; then
      journal_package "$package"
      ! package_is_installed "$package" || journal_touched package "$package"
    elif ! journal_has package "$package" "$gpuadm_run"; then
      journal_for_others package "$package"
    fi
  done
}
package_is_installed() { case $(package_now "$1") in absent | ?c\ *) return 1 ;; esac; }
# package_is_among NAME WORD...: the words are names, with or without a version, and options.
package_is_among() {
  gpuadm_package=$1
  shift
  for gpuadm_word in "$@"; do
    case $gpuadm_word in "$gpuadm_package" | "$gpuadm_package="* | "$gpuadm_package"-[0-9]*) return 0 ;; esac
  done
  return 1
}

# packages_needed NAME...: those of them that a package needs which stays, and which gpuadm has upgraded: its new version may need more than
# the one before.
packages_needed() {
  gpuadm_upgraded=$(awk -F '\t' 'NF == 5 && $1 == "package" && $3 !~ /^(absent|unknown|.c .*)$/ { print $2 }' "$gpuadm_journal/log")
  # Mostly there are none, which one question shows.
  packages_look "$*" "$@" || return
  [ -n "$gpuadm_needs" ] || return 0
  for gpuadm_package in "$@"; do
    packages_look "$*" "$gpuadm_package" || return
    [ -z "$gpuadm_needs" ] || printf '%s\n' "$gpuadm_package"
  done
}
# packages_look LEAVING NAME...: sets gpuadm_needs to the packages in $gpuadm_upgraded, other than the leaving ones, that would be removed with these.
packages_look() {
  gpuadm_leaving=$1
  shift
  gpuadm_removed=$("$(package_manager)_removed" "$@") || return
  gpuadm_needs=
  for gpuadm_other in $gpuadm_removed; do
    case " $gpuadm_leaving " in *" $gpuadm_other "*) continue ;; esac
    ! printf '%s\n' "$gpuadm_upgraded" | grep -qxF -- "$gpuadm_other" || gpuadm_needs="$gpuadm_needs $gpuadm_other"
  done
}

# packages_unneeded NAME...: the others.
packages_unneeded() {
  gpuadm_needed=$(packages_needed "$@") || return
  [ -z "$gpuadm_needed" ] || say "stay, because a package that was upgraded needs them: $(printf '%s\n' "$gpuadm_needed" | paste -sd' ')"
  for gpuadm_package in "$@"; do
    printf '%s\n' "$gpuadm_needed" | grep -qxF -- "$gpuadm_package" || printf '%s\n' "$gpuadm_package"
  done
}

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

# NAME without an architecture is the package of this machine's, as in the output of apt-get.
apt_now() {
  gpuadm_rc=0
  gpuadm_is=$(dpkg-query -W -f '${Architecture} ${db:Status-Abbrev}${Version}\n' "$1" 2>/dev/null) || gpuadm_rc=$?
  case $1 in
    *:*) gpuadm_is=${gpuadm_is#* } ;;
    *)
      gpuadm_native=${gpuadm_native:-$(dpkg --print-architecture)}
      gpuadm_is=$(printf '%s\n' "$gpuadm_is" | sed -n "s/^\($gpuadm_native\|all\) //p")
      ;;
  esac
  case $gpuadm_rc:$gpuadm_is in
    0:?n* | 0: | 1:*) echo absent ;; # 1: dpkg does not know the name
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

# What is not installed, or was only configured, has nothing to complete.
apt_whole() { case $(apt_now "$1") in absent | ?c\ * | [hi][itW]\ *) ;; *) return 1 ;; esac; }

apt_install() {
  gpuadm_version=$1
  shift
  for gpuadm_package in "$@"; do
    journal_package "$gpuadm_package"
    journal_touched package "$gpuadm_package"
  done
  apt_update || : "what is known already may do"
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

# apt_get ARGUMENT...: waits for another program that has dpkg's lock, such as unattended-upgrades. A configuration file that is there stays,
# and no service is restarted by needrestart.
apt_get() {
  from_packages env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -o DPkg::Lock::Timeout=240 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" </dev/null
}

# apt_update [OPTION...]: updates the package lists. apt-get does not wait for another program that does: this waits up to two minutes.
# shellcheck disable=SC2120
apt_update() {
  gpuadm_until=$(($(date +%s) + 120))
  while :; do
    gpuadm_rc=0
    gpuadm_errors=$(apt-get update "$@" 2>&1 >/dev/null) || gpuadm_rc=$?
    case $gpuadm_rc:$gpuadm_errors in
      0:*) ;;
      *lists/lock*) [ "$(date +%s)" -ge "$gpuadm_until" ] || { sleep 2 && continue; } ;;
    esac
    [ -z "$gpuadm_errors" ] || printf '%s\n' "$gpuadm_errors" >&2
    return "$gpuadm_rc"
  done
}

# apt_changes COMMAND...: the names of the packages that it would install or upgrade, and, with "-" in front, of those that it would remove.
# Fails, with the message of apt-get on stderr, if apt-get does not know them: then they would be missing in the journal.
apt_changes() {
  gpuadm_changes=$(from_packages apt-get -s "$@") || return
  printf '%s\n' "$gpuadm_changes" | awk '$1 == "Inst" { print $2 } $1 == "Remv" || $1 == "Purg" { print "-" $2 }'
}

# Options of apt-get and NAME=VERSION are accepted, too.
apt_add() {
  gpuadm_added=$(apt_changes install --no-install-recommends --allow-change-held-packages "$@") || return
  packages_record "$gpuadm_added" "$@"
  apt_get install -y --no-install-recommends --allow-change-held-packages "$@"
}

# What it would remove must have come to the host with gpuadm.
apt_cannot() {
  # shellcheck disable=SC2046 # several
  set -- install --no-install-recommends --allow-downgrades --allow-change-held-packages $(undo_packages_beside "$1" "$2")
  gpuadm_added=$(apt_changes "$@" 2>/dev/null) || {
    apt_changes "$@" 2>&1 >/dev/null | sed -n 's/^E: //p' | head -n 1
    return 0
  }
  for gpuadm_package in $gpuadm_added; do
    case $gpuadm_package in
      -*) journal_has package "${gpuadm_package#-}" || {
        echo "apt would remove ${gpuadm_package#-}"
        return 0
      } ;;
    esac
  done
}

apt_restore() {
  gpuadm_version=${2#???}
  case $(apt_now "$1") in
    ?i\ "$gpuadm_version") ;;
    *)
      # shellcheck disable=SC2046 # several
      apt_get install -y --no-install-recommends --allow-downgrades --allow-change-held-packages $(undo_packages_beside "$1" "$2")
      ;;
  esac
  case $2 in h*) apt-mark hold "$1" ;; *) apt-mark unhold "$1" ;; esac >/dev/null
}

apt_removed() {
  gpuadm_changes=$(package_source='' from_packages apt-get -s purge -o APT::Default-Release= "$@") || return
  printf '%s\n' "$gpuadm_changes" | awk '$1 == "Remv" || $1 == "Purg" { print $2 }'
}

# Nothing is fetched, so a default release that no package list contains is ignored. A package that was removed, and not purged, before
# gpuadm installed it keeps its configuration files. So does a file that existed before its package, or that was edited since.
apt_remove() {
  # What an interrupted run has removed may not be in any package list.
  # shellcheck disable=SC2046 # a word a package
  set -- $(for gpuadm_package in "$@"; do [ "$(apt_now "$gpuadm_package")" = absent ] || printf '%s\n' "$gpuadm_package"; done)
  gpuadm_unneeded=$(packages_unneeded "$@") || return
  # shellcheck disable=SC2086 # a word a package
  set -- $gpuadm_unneeded
  if [ $# -gt 0 ]; then
    gpuadm_removed=$(apt_removed "$@") || return
    packages_are_all "$gpuadm_removed" "$@"
    apt-mark unhold "$@" >/dev/null 2>&1 || :
    apt_get remove -y -o APT::Default-Release= "$@"
  fi
  for gpuadm_package in "$@"; do
    undo_package_is_gone "$gpuadm_package" && continue
    conffiles_keep "$gpuadm_package"
    DEBIAN_FRONTEND=noninteractive dpkg --purge "$gpuadm_package" </dev/null
  done
  conffiles_return
}

# conffiles_keep NAME: records those of its configuration files that differ from the package's own, before dpkg removes them.
conffiles_keep() {
  # shellcheck disable=SC2016 # a format of dpkg
  dpkg-query -W -f '${Conffiles}\n' "$1" | awk 'NF > 1 { print $2, $1 }' | while read -r gpuadm_sum gpuadm_file; do
    if [ ! -f "$gpuadm_file" ] || [ -L "$gpuadm_file" ] || [ "$(md5sum <"$gpuadm_file" | cut -d' ' -f1)" = "$gpuadm_sum" ]; then continue; fi
    path_open "$gpuadm_file"
    gpuadm_was=$(thing_now file "$gpuadm_file")
    journal_keep "$gpuadm_file" "${gpuadm_was##* }"
    printf '%s\t%s\n' "$gpuadm_file" "$gpuadm_was" >>"$gpuadm_home/conffiles"
    sync "$gpuadm_home/conffiles" 2>/dev/null || :
  done
}
# conffiles_return: restores them, also those of an interrupted run.
conffiles_return() {
  [ -f "$gpuadm_home/conffiles" ] || return 0
  while IFS=$gpuadm_tab read -r gpuadm_file gpuadm_was; do
    mkdir -p "${gpuadm_file%/*}"
    file_become "$gpuadm_file" "$gpuadm_was"
    say "$gpuadm_file stays: it is not the package's own"
  done <"$gpuadm_home/conffiles"
  rm -f "$gpuadm_home/conffiles"
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

dnf_whole() { :; } # rpm has no package whose installation is incomplete

dnf_install() {
  gpuadm_version=$1
  shift
  # shellcheck disable=SC2046 # a word a package
  dnf_add --setopt=disable_excludes=kubernetes $(printf "%s-$gpuadm_version " "$@")
}

# dnf_changes COMMAND...: the names of the packages that it would change, and, with "-" in front, of those that it would replace, from the table
# of dnf 4 and 5: a line " NAME ARCH VERSION" for each, and indented lines "replacing NAME.ARCH VERSION" (dnf 5: without .ARCH) for those
# that it replaces, also with a newer version of the same package. A long name has a line of its own.
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
    /^ [^ ]/ && $1 != "Package" { last = $1; print $1 }
    $1 == "replacing" { sub(/\.(noarch|x86_64|aarch64|i686)$/, "", $2); if ($2 != last) print "-" $2 }'
}

# Options of dnf and NAME-VERSION are accepted, too.
dnf_add() {
  gpuadm_added=$(dnf_changes install "$@") || return
  packages_record "$gpuadm_added" "$@"
  dnf install -y "$@" </dev/null
}

# A package that another has replaced is installed instead of it.
dnf_verb() { if [ "$(dnf_now "$1")" = absent ]; then echo 'install --allowerasing'; else echo downgrade; fi; }

# From what dnf knows already: a repository that does not answer is not a reason.
dnf_cannot() {
  # shellcheck disable=SC2046,SC2086 # two words; one for each architecture
  gpuadm_why=$(limit_of 20 dnf -C --setopt=disable_excludes=kubernetes $(dnf_verb "$1") $2 --assumeno --setopt=debuglevel=2 </dev/null 2>&1) || :
  case $gpuadm_why in *"Transaction Summary"*) return 0 ;; esac
  printf '%s\n' "$gpuadm_why" | grep -E 'No match|No package|marked for downgrade|Problem' | head -n 1
}

dnf_restore() {
  # shellcheck disable=SC2046,SC2086 # two words; one for each architecture
  dnf --setopt=disable_excludes=kubernetes $(dnf_verb "$1") -y $2 </dev/null
}

dnf_removed() { dnf_changes remove --noautoremove "$@"; } # none is replaced

dnf_remove() {
  gpuadm_unneeded=$(packages_unneeded "$@") || return
  # shellcheck disable=SC2086 # a word a package
  set -- $gpuadm_unneeded
  [ $# -gt 0 ] || return 0
  gpuadm_removed=$(dnf_removed "$@") || return
  packages_are_all "$gpuadm_removed" "$@"
  dnf remove -y --noautoremove "$@" </dev/null
}
