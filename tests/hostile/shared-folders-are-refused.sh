#!/usr/bin/env bash
# Where others may write to a folder on the way, nothing is done there, and the folder, the reason and the remedy are named. Root's own
# links are followed, and what is root's alone works as ever.
. "$(dirname "$0")/common"

puts() { # puts PATH: as a playbook writes its files
  step "${run:-one}" <<END
content=ours base_sha256=
file_put $1 0644
END
}
copies() { # copies PATH
  printf ours >freight
  step "${run:-one}" cp.sh <<END
path=$1 mode=644 bundle_sha256=$(printf ours | sha256sum | cut -d' ' -f1)
cp_apply <$place/freight
END
}
refused() { # refused FOLDER TEXT
  local way
  for way in puts copies; do
    $way "$1/f"
    [ "$status" != 0 ] || fail "$way wrote to $1"
    complains "$2"
    [ ! -e "$1/f" ] || fail "$way wrote to $1"
  done
}

mkdir everybody group theirs && chmod 0777 everybody && chmod 0775 group && chgrp "$mallory" group && chown "$mallory:" theirs
refused "$place/everybody" "every user may write to $place/everybody and could interfere with gpuadm: run chmod go-w $place/everybody"
refused "$place/group" "the group $mallory may write to $place/group"
mkdir everybody/below
refused "$place/everybody/below" "every user may write to $place/everybody"
as "$mallory" -- mkdir -m 0777 theirs/open
copies "$place/theirs/open/f"
complains "every user may write to $place/theirs/open"
mkdir theirs/others && chown "$alice:" theirs/others
copies "$place/theirs/others/f"
complains "$place/theirs/others belongs to $alice, and its parent $place/theirs belongs to $mallory"
mkdir nobodys && chown 54321 nobodys
refused "$place/nobodys" "$place/nobodys belongs to the user id 54321, which does not exist on this host: run chown root:root $place/nobodys"
if command -v setfacl >/dev/null && mkdir acl && setfacl -m "u:$mallory:rwx" acl 2>/dev/null; then
  refused "$place/acl" "another user (by an ACL) may write to $place/acl"
fi

# As /tmp is.
mkdir -m 1777 sticky
as "$mallory" -- sh -c 'echo mine >sticky/mine; mkdir sticky/folder'
copies "$place/sticky/mine"
complains "$place/sticky/mine belongs to $mallory, who could replace it at any time"
[ "$(cat sticky/mine)" = mine ] || fail "it was replaced"
copies "$place/sticky/ours"
[ "$status:$(stat -c '%U %a' sticky/ours)" = '0:root 644' ] || fail "a new file in a folder like /tmp"
copies "$place/sticky/folder/f"
[ "$(stat -c %U sticky/folder/f)" = "$mallory" ] || fail "root wrote into their folder in a folder like /tmp"
puts "$place/sticky/new/er/f"
[ "$status:$(stat -c '%U %a' sticky/new sticky/new/er sticky/new/er/f | tr '\n' ' ')" = '0:root 755 root 755 root 644 ' ] || fail "new folders in a folder like /tmp"

# A group that nobody is in, as the one of /usr/local on Debian.
if getent group staff | grep -q ':$' && ! getent passwd | cut -d: -f4 | grep -qx "$(getent group staff | cut -d: -f3)"; then
  mkdir staff && chgrp staff staff && chmod 2775 staff
  puts "$place/staff/f"
  [ "$status" = 0 ] || fail "a group that nobody is in"
fi

# A user with a group of their own, as most distributions make them.
as "$mallory" -- mkdir -m 0775 theirs/own
copies "$place/theirs/own/f"
[ "$(stat -c %U theirs/own/f)" = "$mallory" ] || fail "a folder that only the user's own group may write to"

# Root's.
mkdir -m 0775 roots && ln -s "$place/roots" direct && ln -s roots relative && ln -s "$place/direct/../roots/../relative" twice
for way in roots direct relative twice; do
  run=$way puts "$place/$way/f-$way"
  [ "$status:$(cat "roots/f-$way")" = 0:ours ] || fail "through $way"
done
ln -s f-roots roots/link
run=roots puts "$place/roots/link"
[ -L roots/link ] || fail "root's own link was replaced"
run=again copies "$place/roots//./f-twice"
[ "$status" = 0 ] || fail "a path with dots"
