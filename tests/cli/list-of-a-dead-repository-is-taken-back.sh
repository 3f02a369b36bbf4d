#!/usr/bin/env bash
# A repository that a step adds and that does not answer as one does not stay with apt.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
needs apt-get dpkg-deb

mkdir -p apt/lists/partial apt/lists.d repository
: >apt/status
export APT_CONFIG=$place/apt/conf
cat >apt/conf <<END
Dir::State::lists "$place/apt/lists"; Dir::State::status "$place/apt/status"; Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
Dir::Etc::sourceparts "$place/apt/lists.d"; Dir::Etc::sourcelist "/dev/null"; Dir::Etc::parts "/dev/null"; Acquire::Languages "none";
APT::Sandbox::User "root"; Acquire::http::Timeout "5"; Acquire::http::Proxy "DIRECT";
END
: >repository/Packages
list=$place/apt/lists.d/some.list
# adds ADDRESS: as a step does.
adds() { in_step "content='deb [trusted=yes] $1 ./' && file_put '$list' 0644 && source_update '$list' || die 'does not answer'"; }

exits 0 adds "file:$place/repository"
grep -qF "$place/repository" "$list" || fail "there is no list"
# Nobody listens there: apt itself takes that for something that passes.
rm -rf host
exits 3 adds "http://127.0.0.1:1/"
complains 'does not answer'
grep -qF "$place/repository" "$list" || fail "the list is not what it was"
rm -rf host "$list"
for address in http://127.0.0.1:1/ "file:$place/nowhere"; do
  exits 3 adds "$address"
  [ ! -e "$list" ] || fail "apt is left with $address"
done
