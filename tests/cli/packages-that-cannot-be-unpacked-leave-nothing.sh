#!/usr/bin/env bash
# A bundle's archive of packages is a plain tar; where it cannot be unpacked, that is said, and the half of it does not stay.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
needs apt-get

refused() {
  exits 3 in_step "repository_put '$place/$1' 1"
  complains "cannot unpack the packages of the bundle in $place/host/repository.new: they need $2 MiB, and "
  [ ! -e host/repository.new ] || fail "the half of $1 is left"
  [ ! -e host/repository/sum ] || fail "$1 was taken"
}
mkdir full
head -c 3000000 /dev/urandom >full/Packages
tar -C full -cf whole.tar Packages
head -c 2000000 whole.tar >half.tar
refused half.tar 2
gzip -k whole.tar
refused whole.tar.gz 3
head -c 100000 /dev/urandom >random
refused random 1

# A disk that is full.
if [ "$(id -u)" = 0 ]; then
  rm -rf host
  mkdir host
  if mount -t tmpfs -o size=2m tmpfs host 2>/dev/null; then
    trap 'umount host; rm -rf "$place"' EXIT
    refused whole.tar 3
    complains 'MiB are free'
    [ -z "$(ls host)" ] || fail "something is left: $(ls host)"
    umount host
    trap 'rm -rf "$place"' EXIT
  fi
fi

: >full/Packages
tar -C full -cf empty.tar Packages
exits 0 in_step "repository_put '$place/empty.tar' 1"
[ "$(cat host/repository/sum)" = 1 ] || fail "the plain tar was not taken"
