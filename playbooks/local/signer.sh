# shellcheck shell=sh disable=SC2154
# Prints who of the file $signers signed the file $text with the signature $sig; fails if it is nobody. Runs on the machine that runs gpuadm.
command -v ssh-keygen >/dev/null || { echo 'there is no ssh-keygen' >&2; exit 1; }
who=$(ssh-keygen -Y find-principals -s "$sig" -f "$signers" </dev/null) || exit
who=$(printf '%s\n' "$who" | head -n 1)
ssh-keygen -q -Y verify -f "$signers" -I "$who" -n gpuadm-bundle -s "$sig" <"$text" >&2 || exit
printf '%s\n' "$who"
