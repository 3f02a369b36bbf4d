# shellcheck shell=sh disable=SC2154
# Signs the file $text with the key $key into $text.sig. Runs on the machine that runs gpuadm.
command -v ssh-keygen >/dev/null || { echo 'there is no ssh-keygen' >&2; exit 1; }
SSH_ASKPASS=/bin/false ssh-keygen -q -Y sign -f "$key" -n gpuadm-bundle "$text"
