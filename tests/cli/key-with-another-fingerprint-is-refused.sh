#!/usr/bin/env bash
# The key that signs packages is held against its fingerprints before it is installed; they are read as gpg reads them.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck source=tests/lib/apt-repository.sh
. "$top/tests/lib/apt-repository.sh"
needs gpg

rsa=$(signing_key keys rsa rsa3072)
ed=$(signing_key keys ed)
gpg --homedir keys --batch --quiet --passphrase '' --quick-add-key "$ed" cv25519 encr never 2>/dev/null
export_key keys "$rsa" --armor >rsa.asc
export_key keys "$ed" --armor >ed.asc
export_key keys "$ed" >ed.gpg
cat rsa.asc ed.asc >both.asc

for file in ed.asc ed.gpg; do
  exits 0 in_step "key_fingerprints $place/$file"
  [ "$(cat out)" = "$ed" ] || fail "$file: $(cat out) is not $ed"
done
exits 0 in_step "key_fingerprints $place/both.asc"
[ "$(cat out)" = "$rsa
$ed" ] || fail "both.asc: $(cat out)"

accepted() { in_step "key_is_accepted $place/$1 https://example.com/key '$2'"; }
exits 3 accepted rsa.asc ""
complains "set mirrors.packageKeys"
exits 0 accepted rsa.asc "$rsa"
exits 0 accepted rsa.asc "$ed
${rsa,,}"
exits 0 accepted both.asc "$ed $rsa"
exits 3 accepted rsa.asc "$ed"
complains "https://example.com/key contains the key $rsa instead of $ed"
exits 3 accepted both.asc "$ed"
complains "contains the key $rsa"

# What is not read to its end is not accepted.
{
  cat ed.asc
  printf ' '
  cat rsa.asc
} >indented.asc
head -c 100 ed.gpg >short.gpg
sed '/^-----END/d' ed.asc >open.asc
{
  cat ed.gpg
  echo '<html>'
} >more.gpg
echo '<html>' >page.html
for file in indented.asc short.gpg open.asc more.gpg page.html; do
  exits 3 accepted "$file" "$ed"
  complains "cannot read the fingerprint of this key"
done
