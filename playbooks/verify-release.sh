# shellcheck shell=sh disable=SC2154
# Verifies the signature of a package repository's InRelease ($file), and prints the text that was signed. Runs on the machine on which
# `gpuadm bundle create` runs, after prelude.sh and packages.sh. The keys are in $keyring, a keyring of this machine, or in $key: a
# public key or the package cuda-keyring, downloaded from $key_url, whose keys must all be listed in $fingerprints.
# Exit status 4: gpgv is not installed.
set -eu
have gpgv || exit 4
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

if [ -n "$key" ]; then
  case $key_url in
    *.deb)
      have dpkg-deb || die "cannot read $key_url: dpkg-deb is not installed; install dpkg"
      dpkg-deb --fsys-tarfile "$key" 2>/dev/null | tar -xOf - ./usr/share/keyrings/cuda-archive-keyring.gpg >"$stage/key" 2>/dev/null ||
        die "$key_url does not contain the key of NVIDIA's repository: check the mirror and the proxy"
      key=$stage/key
      ;;
    *) key_is_one "$key" "$key_url" ;;
  esac
  key_is_accepted "$key" "$key_url" "$fingerprints"
  key_bytes "$key" >"$stage/keyring.gpg"
  keyring=$stage/keyring.gpg
fi

gpgv --keyring "$keyring" --status-fd 3 --output "$stage/text" "$file" 3>"$stage/status" || :
# VALIDSIG is also printed for a revoked or expired key. An invalid second signature, which releases have from their predecessor's
# key, does not invalidate a good one.
said='^\[GNUPG:\] '
if grep -q "${said}GOODSIG " "$stage/status" && ! grep -q "${said}BADSIG " "$stage/status"; then
  cat "$stage/text"
  exit
fi
sed -n -e "s/${said}BADSIG /BADSIG: the text is not what was signed: /p" \
  -e "s/${said}REVKEYSIG /REVKEYSIG: the key was revoked: /p" \
  -e "s/${said}EXPKEYSIG /EXPKEYSIG: the key has expired: /p" \
  -e "s/${said}EXPSIG /EXPSIG: the signature has expired: /p" "$stage/status" >&2
exit 1
