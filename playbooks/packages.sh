# shellcheck shell=sh disable=SC2034,SC2154
# Functions of steps that install packages of the operating system. They stand behind prelude.sh.

# from_packages COMMAND...: apt's, with the packages of the bundle and no others where it has some ($package_source).
from_packages() {
  if [ "${package_source:-}" = bundle ]; then
    [ -e "$gpuadm_home/repository/sum" ] || die "the packages of the bundle are not on this host yet: the phase os/repositories brings them"
    APT_CONFIG=$gpuadm_home/repository/apt.conf "$@"
  else
    "$@"
  fi
}

# packages_install NAME[=VERSION]...: with what they need, all of it journaled.
packages_install() {
  for package in $(from_packages apt-get -s install --no-install-recommends --allow-change-held-packages "$@" | awk '$1 == "Inst" || $1 == "Remv" { print $2 }'); do
    journal_package "$package"
  done
  DEBIAN_FRONTEND=noninteractive from_packages apt-get install -y --no-install-recommends --allow-change-held-packages "$@" </dev/null
}

# repository_put FILE SUM: a bundle's archive of packages becomes what from_packages takes packages from. Of the host's own apt
# nothing is read but what is installed, and nothing is changed.
repository_put() (
  trap 'rm -rf "$gpuadm_home/repository.new"' EXIT
  rm -rf "$gpuadm_home/repository.new"
  mkdir -p "$gpuadm_home/repository.new/lists/partial"
  # On its stdin tar unpacks nothing that is compressed.
  tar -C "$gpuadm_home/repository.new" -xf - <"$1" ||
    die "the packages of the bundle cannot be unpacked in $gpuadm_home/repository.new: they take $(($(stat -c %s "$1") / 1048576 + 1)) MiB, and $(repository_room) MiB are free there"
  printf 'deb [trusted=yes] file:%s ./\n' "$gpuadm_home/repository" >"$gpuadm_home/repository.new/sources.list"
  cat >"$gpuadm_home/repository.new/apt.conf" <<END
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::sourcelist "$gpuadm_home/repository/sources.list";
Dir::State::lists "$gpuadm_home/repository/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
  rm -rf "$gpuadm_home/repository"
  mv "$gpuadm_home/repository.new" "$gpuadm_home/repository"
  APT_CONFIG=$gpuadm_home/repository/apt.conf apt-get update >/dev/null
  printf '%s\n' "$2" >"$gpuadm_home/repository/sum" # the last: whoever finds it finds all
)
# repository_room: MiB that are free, without what has been unpacked in vain.
repository_room() {
  rm -rf "$gpuadm_home/repository.new"
  df -P -k "$gpuadm_home" | awk 'NR == 2 { print int($4 / 1024) }'
}

# source_update LIST: apt asks the repositories of that list and no others. Where one does not answer, LIST is what it was before the
# run: every later apt-get update would fail for it.
source_update() {
  apt-get update -o Dir::Etc::sourcelist="$1" -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0 -o APT::Update::Error-Mode=any >/dev/null &&
    return 0
  file_restore "$1"
  return 1
}

# programs_missing: the packages of those programs that kubeadm and the kubelet call and this host lacks.
programs_missing() {
  while read -r program package; do
    have "$program" || printf '%s\n' "$package"
  done <<END | sort -u
$system_programs
END
}

# packages_kept NAME REGEX...: the file that has unattended-upgrades leave them alone: $path, $content.
packages_kept() {
  gpuadm_name=$1
  shift
  path=/etc/apt/apt.conf.d/52gpuadm-$gpuadm_name
  content="// Written by gpuadm.
Unattended-Upgrade::Package-Blacklist {
$(printf '  "%s";\n' "$@")
};
"
}
