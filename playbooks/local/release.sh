# shellcheck shell=sh disable=SC2154
# Prints the text of the signed Release file $file if a key of $keyring signed it. Exits with 3 if there is no gpgv. Runs on the machine that
# runs gpuadm.
command -v gpgv >/dev/null || exit 3
status=$(mktemp) && trap 'rm -f "$status"' EXIT
gpgv --keyring "$keyring" --status-fd 3 --output - "$file" 3>"$status" || :
# VALIDSIG is also printed for a key that was revoked or has expired. If a release also has a signature of its predecessor's key, one good
# signature is enough.
said='^\[GNUPG:\] '
grep -q "${said}GOODSIG " "$status" && ! grep -q "${said}BADSIG " "$status" && exit 0
sed -n -e "s/${said}BADSIG /BADSIG: the text is not what was signed: /p" \
  -e "s/${said}REVKEYSIG /REVKEYSIG: the key was revoked: /p" \
  -e "s/${said}EXPKEYSIG /EXPKEYSIG: the key has expired: /p" \
  -e "s/${said}EXPSIG /EXPSIG: the signature has expired: /p" "$status" >&2
exit 1
