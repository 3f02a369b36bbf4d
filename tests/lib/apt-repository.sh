# shellcheck shell=bash
# A signed repository of empty packages, as Kubernetes has one for each minor: enough for an update and for what is offered.

# signing_key HOME NAME [ALGORITHM]: makes a key and prints its fingerprint.
signing_key() {
  mkdir -p "$1" && chmod 700 "$1"
  gpg --homedir "$1" --batch --quiet --passphrase '' --quick-gen-key "$2 <$2@example.com>" "${3:-ed25519}" sign never 2>/dev/null
  gpg --homedir "$1" --batch --with-colons --list-keys "=$2 <$2@example.com>" 2>/dev/null | awk -F: '$1 == "fpr" { print $10; exit }'
}
# export_key HOME FINGERPRINT [OPTION...]
export_key() {
  local home=$1 key=$2
  shift 2
  gpg --homedir "$home" --batch "$@" --export "$key" 2>/dev/null
}

# apt_repository FOLDER HOME FINGERPRINT NAME=VERSION...: an index of these packages, signed by that key.
apt_repository() {
  local folder=$1 home=$2 key=$3 one
  shift 3
  mkdir -p "$folder"
  for one in "$@"; do
    printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: nobody\nFilename: %s_%s.deb\nSize: 1\nSHA256: %064d\nDescription: test\n\n' \
      "${one%%=*}" "${one#*=}" "$(dpkg --print-architecture)" "${one%%=*}" "${one#*=}" 0
  done >"$folder/Packages"
  {
    printf 'Suite: stable\nDate: %s\nSHA256:\n' "$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S UTC')"
    printf ' %s %d Packages\n' "$(sha256sum <"$folder/Packages" | cut -d' ' -f1)" "$(wc -c <"$folder/Packages")"
  } >"$folder/Release"
  gpg --homedir "$home" --batch --yes --local-user "$key" --clearsign --output "$folder/InRelease" "$folder/Release" 2>/dev/null
  export_key "$home" "$key" --armor >"$folder/Release.key"
}
