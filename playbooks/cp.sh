# shellcheck shell=sh disable=SC2034,SC2154
# The `gpuadm cp` program on a host, loaded after playbooks/prelude.sh. Variables: path, mode, bundle_sha256.

# Links that belong to root are followed and kept. Below a folder that belongs to a user, the file is written as that user and
# belongs to the user.
cp_check() {
  [ ! -d "$path" ] || die "$path is a folder on this host: append a slash to copy the file into it"
  path_open_as_owner "$path" follow
  file_has_sum "$gpuadm_real" "$bundle_sha256" && [ "$(stat -c %a "$gpuadm_real")" = "$mode" ] || exit 1
}

cp_apply() {
  path_open_as_owner "$path" follow
  file_install "$gpuadm_real" "$mode"
}
