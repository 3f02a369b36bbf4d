# shellcheck shell=sh disable=SC2154
# Lists the patch versions of a Kubernetes minor version that the package repository offers to this host, one per line. Runs before
# the first change (src/session/kubernetes_version.cpp), loaded after package-managers.sh and packages.sh. All files are in a temporary folder:
# neither the package manager's own files nor anything else on the host is changed.
# Variables: kubernetes_repository, kubernetes_minor, kubernetes_keys, and proxy_environment, proxy_apt, proxy_dnf, which are empty
# if the cluster file has no proxy; then the host's own settings apply.
# Exit status: 21: the repository has no such minor version, 22: it cannot be reached, 23: its signature is invalid, 24: it is not a
# valid repository; the reason is the last line on stderr.
apt_versions() {
  versions_apt_settings
  versions_key "$kubernetes_repository/v$kubernetes_minor/deb/Release.key" "/etc/apt/keyrings/kubernetes-$kubernetes_minor.asc"
  printf 'deb [signed-by=%s] %s/v%s/deb/ /\n' "$stage/key.asc" "$kubernetes_repository" "$kubernetes_minor" >"$stage/sources.list"
  limit_of 90 apt-get update -o APT::Update::Error-Mode=any >"$stage/said" 2>&1 || versions_refuse "$kubernetes_repository/v$kubernetes_minor/deb/"
  # Before apt 2.1 an update that fetches nothing exits with 0.
  ls "$stage"/lists/*Packages* >/dev/null 2>&1 || versions_refuse "$kubernetes_repository/v$kubernetes_minor/deb/"
  apt-cache madison kubeadm kubelet kubectl | awk -F ' *[|] *' '{ sub(/^ +/, "", $1); sub(/-.*/, "", $2); print $1, $2 }' | versions_of_all
}

# versions_apt_settings: the host's own settings, with its proxy, except for apt's folders and the hooks of an update.
versions_apt_settings() {
  mkdir -p "$stage/lists/partial" "$stage/parts"
  for file in /etc/apt/apt.conf.d/*; do [ ! -f "$file" ] || cp "$file" "$stage/parts/"; done
  [ -z "$proxy_apt" ] || printf '%s' "$proxy_apt" >"$stage/parts/95gpuadm-proxy"
  cat >"$stage/parts/zz-gpuadm" <<END
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::Retries "1";
Acquire::http::Timeout "15";
Acquire::https::Timeout "15";
END
  apt_settings "$stage" >>"$stage/parts/zz-gpuadm"
  printf 'Dir::Etc::parts "%s/parts";\n' "$stage" >"$stage/apt.conf"
  export APT_CONFIG="$stage/apt.conf"
}

dnf_versions() {
  url=$kubernetes_repository/v$kubernetes_minor/rpm
  versions_key "$url/repodata/repomd.xml.key" "/etc/pki/rpm-gpg/RPM-GPG-KEY-kubernetes-$kubernetes_minor"
  signed=0
  ! fetch "$url/repodata/repomd.xml.asc" 30 >"$stage/signature" 2>/dev/null || signed=1 # not every mirror has one
  mkdir -p "$stage/repos"
  printf '[gpuadm-kubernetes]\nname=Kubernetes\nbaseurl=%s/\nenabled=1\ngpgcheck=1\nrepo_gpgcheck=%s\ngpgkey=file://%s\nskip_if_unavailable=0\ntimeout=15\nretries=2\n%s' \
    "$url" "$signed" "$stage/key.asc" "$proxy_dnf" >"$stage/repos/kubernetes.repo"
  limit_of 90 dnf -q -y --noplugins --setopt="reposdir=$stage/repos" --setopt="cachedir=$stage/cache" --setopt="persistdir=$stage/state" \
    --setopt="logdir=$stage" '--setopt=disable_excludes=all,*' repoquery --qf '%{name} %{version}\n' kubeadm kubelet kubectl >"$stage/found" 2>"$stage/said" ||
    versions_refuse "$url/"
  versions_of_all <"$stage/found"
}

# versions_key URL FILE: the key of this repository on the host, or the one in the repository.
versions_key() {
  if [ -s "$2" ]; then
    held=$2
    cp "$2" "$stage/key.asc"
    return
  fi
  if ! (fetch_small "$1" 60 "$stage/key.asc") 2>"$stage/said"; then
    versions_refuse "$1"
  fi
  (key_is_one "$stage/key.asc" "$1") || exit 24
  (key_is_accepted "$stage/key.asc" "$1" "$kubernetes_keys") || exit 23
}

# A new Debian host has no curl, but apt can fetch files. No file may be larger than 1 MiB (2048 blocks of 512 bytes).
if ! have curl && [ -x /usr/lib/apt/apt-helper ]; then
  fetch_small() (
    ulimit -f 2048
    limit_of "$2" /usr/lib/apt/apt-helper download-file "$1" "$3" >&2
  )
fi

# versions_of_all: reduces "PACKAGE VERSION" lines to the versions that all three packages have.
versions_of_all() { sort -u | awk 'NF == 2 && ++count[$2] == 3 { print $2 }'; }

# versions_refuse URL: exits with the reason of the failure in $stage/said.
versions_refuse() {
  said=$(grep -E '^[EW]:|^Error|^curl:|rror: ' "$stage/said" | head -n 2 | tr '\n' ' ')
  [ -n "$said" ] || said=$(tail -n 1 "$stage/said")
  # The order matters: a page instead of an index is also reported as unsigned, and an invalid signature as a parse error.
  if versions_said 'NOSPLIT|Clearsigned|repomd.xml parser|XML'; then
    versions_end 24 "$1 is not a valid package repository: $said"
  elif versions_said 'NO_PUBKEY|EXPKEYSIG|REVKEYSIG|BADSIG|not signed|be verified|[Ss]ignature|GPG|OpenPGP'; then
    versions_end 23 "$1 is not signed by ${held:-the key next to it}: $said"
  elif versions_said '(error|code): ?(403|404|410)|(403|404|410) +[A-Z]'; then
    versions_end 21 "$kubernetes_repository has no Kubernetes $kubernetes_minor: $1: $said"
  elif versions_said 'parse|does not have a Release file'; then
    versions_end 24 "$1 is not a valid package repository: $said"
  fi
  versions_end 22 "cannot reach $1: $said"
}
versions_said() { grep -qE "$1" "$stage/said"; }
versions_end() { # versions_end STATUS REASON
  say "$2"
  exit "$1"
}

set -eu
held=
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
if [ -n "$proxy_environment" ]; then
  gpuadm_proxy_file=$stage/proxy.env
  printf '%s' "$proxy_environment" >"$gpuadm_proxy_file"
fi
"$(package_manager)_versions"
