# shellcheck shell=sh disable=SC2154
# Functions for steps that write users' kubeconfigs: root's, and that of the user who ran sudo. Loaded after prelude.sh. Files in a
# home are accessed as its user, and a home whose ~/.kube is a symbolic link is skipped.

kubeconfig_users() { printf '%s\n' root "${SUDO_USER:-root}" | sort -u; }
# kubeconfig_of USER: its path; empty if the user has no home.
kubeconfig_of() {
  gpuadm_kube=$(home_of "$1")
  [ -z "$gpuadm_kube" ] || printf '%s\n' "${gpuadm_kube%/}/.kube/config"
}

# kubeconfig_is_theirs USER PATH: no other user could change the target of PATH. Otherwise the reason is in gpuadm_why.
kubeconfig_is_theirs() {
  for gpuadm_link in "${2%/config}" "$2"; do
    if [ -L "$gpuadm_link" ]; then
      gpuadm_why="$gpuadm_link is a symbolic link"
      return 1
    fi
  done
  path_look "$2" || return 1
  [ "$gpuadm_actor" != "$1" ] || return 0
  gpuadm_why="${2%/.kube/config} does not belong to $1"
  return 1
}

# kubeconfig_stays USER PATH: gpuadm does not write the file, for the reason in gpuadm_why.
kubeconfig_stays() {
  kubeconfig_is_theirs "$1" "$2" || return 0
  [ -e "$2" ] || return 1
  if [ ! -f "$2" ]; then
    gpuadm_why="$2 is not a regular file"
    return 0
  fi
  ! journal_has file "$2" || return 1
  gpuadm_why="$2 belongs to another cluster"
}

kubeconfigs_are_installed() {
  for gpuadm_user_of in $(kubeconfig_users); do
    gpuadm_config=$(kubeconfig_of "$gpuadm_user_of")
    [ -n "$gpuadm_config" ] || continue
    ! kubeconfig_stays "$gpuadm_user_of" "$gpuadm_config" || continue
    [ -f "$gpuadm_config" ] || return 1
    [ "$(sha256_of "$gpuadm_config")" = "$(sha256_of /etc/kubernetes/admin.conf)" ] || return 1
    [ "$(stat -c '%a %U' "$gpuadm_config")" = "600 $gpuadm_user_of" ] || return 1
  done
}
kubeconfigs_install() {
  gpuadm_sha=$(sha256_of /etc/kubernetes/admin.conf)
  for gpuadm_user_of in $(kubeconfig_users); do
    gpuadm_config=$(kubeconfig_of "$gpuadm_user_of")
    [ -n "$gpuadm_config" ] || continue
    if kubeconfig_stays "$gpuadm_user_of" "$gpuadm_config"; then
      say "$gpuadm_config is not written: $gpuadm_why; this cluster's kubeconfig is /etc/kubernetes/admin.conf"
      continue
    fi
    path_open_as_owner "$gpuadm_config"
    journal_original "$gpuadm_config"
    path_write 0600 "$gpuadm_sha" </etc/kubernetes/admin.conf
  done
}

# kubeconfig_is_stale PATH: it is an outdated copy of this cluster's admin.conf.
kubeconfig_is_stale() {
  [ -f "$1" ] || return 1
  [ "$(grep -c '^- cluster:' "$1")" -eq 1 ] || return 1
  [ "$(grep certificate-authority-data "$1")" = "$(grep certificate-authority-data /etc/kubernetes/admin.conf)" ] || return 1
  grep -q '^ *user: kubernetes-admin$' "$1" || return 1
  [ "$(sha256_of "$1")" != "$(sha256_of /etc/kubernetes/admin.conf)" ]
}
# kubeconfigs_stale: one path per line.
kubeconfigs_stale() {
  for gpuadm_user_of in $(kubeconfig_users); do
    gpuadm_config=$(kubeconfig_of "$gpuadm_user_of")
    if [ -z "$gpuadm_config" ] || ! kubeconfig_is_theirs "$gpuadm_user_of" "$gpuadm_config" || ! kubeconfig_is_stale "$gpuadm_config"; then continue; fi
    printf '%s\n' "$gpuadm_config"
  done
}
# Kubeconfigs contain a key, which must not be in the journal. For a kubeconfig that gpuadm created, the journal keeps the state
# before gpuadm.
kubeconfigs_refresh() {
  kubeconfigs_stale | while IFS= read -r gpuadm_config; do
    path_open_as_owner "$gpuadm_config"
    if journal_has file "$gpuadm_config" && ! journal_has file "$gpuadm_config" "$gpuadm_run"; then
      journal_open
      journal_line file "$gpuadm_config" "$(name=$gpuadm_config awk -F '\t' \
        'NF == 5 && $1 == "file" && $2 == ENVIRON["name"] { print $3; exit }' "$gpuadm_journal/log")"
      journal_line +file "$gpuadm_config" any
    fi
    path_write 0600 </etc/kubernetes/admin.conf
  done
}
