# shellcheck shell=sh disable=SC2034,SC2154
# What `gpuadm cp` does on a host, with playbooks/prelude.sh before it. Variables: path, mode, bundle_sha256.

# Where links lead is where the file is: they stay.
cp_path() { readlink -m "$path"; }

cp_check() {
  [ ! -d "$path" ] || die "$path is a folder on this host: end it with a slash to put the file into it"
  to=$(cp_path)
  file_has_sum "$to" "$bundle_sha256" && [ "$(stat -c %a "$to")" = "$mode" ] || exit 1
}

cp_apply() { file_install "$(cp_path)" "$mode"; }
