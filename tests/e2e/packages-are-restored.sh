#!/usr/bin/env bash
# What gpuadm's package functions do with the real apt and dpkg of a host: a configuration file that the operator wrote is kept by install and
# by undo, an upgraded dependency stays, a version that no repository has any more is named, and another program's lock is waited for.
# The packages are built here.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files='undo gpu'

# package NAME VERSION DEPENDS [CONFFILE TEXT]: in repo/.
package() {
  rm -rf work
  mkdir -p work/DEBIAN repo
  printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: lab <lab@lab.local>\nDescription: test\n%s' "$1" "$2" "${3:+Depends: $3
}" >work/DEBIAN/control
  if [ -n "${4:-}" ]; then
    install -D -m 0644 /dev/stdin "work$4" <<<"$5"
    echo "$4" >work/DEBIAN/conffiles
  fi
  dpkg-deb --build --root-owner-group work "repo/$1_$2.deb" >/dev/null
}
repository() { # puts repo/ on the host, as its only repository
  (cd repo && dpkg-scanpackages -m . 2>/dev/null >Packages)
  on node 'rm -rf /srv/repo && mkdir /srv/repo && tar -C /srv/repo -xf -' < <(tar -C repo -cf - .)
  on node 'apt-get update' >/dev/null 2>&1
}
# step TEXT: the functions of steps, run on the host by real programs.
step() {
  mkdir -p bin
  sh() { sed -e "s|^PATH=.*|gpuadm_home=/var/lib/gpuadm|" "$1" | on node 'cat >/root/step.sh && sh /root/step.sh'; }
  in_step "$1"
}
is() { # is NAME STATE: as dpkg says
  [ "$(on node dpkg-query -W -f "'\${db:Status-Abbrev}\${Version}'" "$1")" = "$2" ] || fail "$1 is $(on node dpkg-query -W "$1")"
}

lab up node
on node 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* && echo "deb [trusted=yes] file:/srv/repo ./" >/etc/apt/sources.list'
package lab-library 1 ''
package lab-tool 1 lab-library
package lab-other 1 lab-library
repository
on node 'apt-get install -y lab-tool lab-other' >/dev/null 2>&1

# The operator's file was there before the package that has it.
on node 'mkdir -p /etc/lab && echo mine >/etc/lab/runtime.toml && chmod 0640 /etc/lab/runtime.toml'
package lab-library 2 ''
package lab-tool 2 'lab-library (>= 2)'
package lab-runtime 2 'lab-library (>= 2)' /etc/lab/runtime.toml default
package lab-plain 2 '' /etc/lab/plain.toml default
rm repo/lab-library_1.deb
repository
exits 0 step 'packages_install lab-runtime lab-tool=2 lab-plain; journal_close'
is lab-runtime 'ii 2'
is lab-library 'ii 2'
[ "$(on node cat /etc/lab/runtime.toml)" = mine ] || fail "the operator's file is replaced"
on node 'grep -qx default /etc/lab/plain.toml'

# The version before is in the repository: undo knows no reason against it. Without it, apt's reason is named, and so is what apt would remove.
exits 0 step undo_read
[ "$(grep -c '^lost' out || :)" = 0 ] || fail "$(grep '^lost' out)"
exits 0 step 'undo_packages_beside lab-tool "ii 1"'
[ "$(cat out)" = lab-tool=1 ] || fail "$(cat out)"
rm repo/lab-tool_1.deb
repository
exits 0 step undo_read
says "lost	package	lab-tool	ii 1	Version '1' for 'lab-tool' was not found"
package lab-tool 1 ''
printf '%s\n' 'Conflicts: lab-other' >>work/DEBIAN/control
dpkg-deb --build --root-owner-group work repo/lab-tool_1.deb >/dev/null
repository
exits 0 step undo_read
says "lost	package	lab-tool	ii 1	apt would remove lab-other"
package lab-tool 1 lab-library
repository
exits 0 step 'kind=package name=lab-tool was="ii 1" now= reader=; undo_apply && undo_is_done'
is lab-tool 'ii 1'
is lab-library 'ii 2'

# What was removed keeps the operator's file; an interrupted removal is continued.
exits 7 step 'kind=packages name="lab-runtime lab-plain" was=absent now= reader=; conffiles_return() { exit 7; }; undo_apply'
on node '[ ! -e /etc/lab/runtime.toml ]'
exits 0 step 'kind=packages name="lab-runtime lab-plain" was=absent now= reader=; ! undo_is_done; undo_apply && undo_is_done'
complains "/etc/lab/runtime.toml stays: it is not the package's own"
# shellcheck disable=SC2016 # expanded where it runs
on node '[ "$(cat /etc/lab/runtime.toml)" = mine ] && [ "$(stat -c %a /etc/lab/runtime.toml)" = 640 ] && [ ! -e /etc/lab/plain.toml ]' ||
  fail "the operator's file is not as before: $(on node 'ls -l /etc/lab; cat /etc/lab/*')"
on node '! dpkg-query -W lab-runtime lab-plain 2>/dev/null | grep .' || fail "a package is left"

# A package that is installed in part is not taken for installed.
on node 'dpkg --unpack /srv/repo/lab-runtime_2.deb' >/dev/null
exits 1 step 'packages_are_whole lab-library lab-runtime'
exits 0 step 'packages_install lab-runtime && packages_are_whole lab-library lab-runtime lab-unknown'

# What the new version of a library needs stays with it: other packages would be removed.
package lab-library 3 lab-new
package lab-new 1 ''
package lab-app 1 'lab-library (>= 3)'
repository
exits 0 step 'gpuadm_run=app; packages_install lab-app; journal_close'
exits 0 step 'kind=packages name="lab-app lab-new" was=absent now= reader=; gpuadm_step=preview; ! undo_is_done; undo_apply && undo_is_done'
complains "stay, because a package that was upgraded needs them: lab-new"
is lab-new 'ii 1'
is lab-other 'ii 1'
on node '! dpkg-query -W lab-app 2>/dev/null | grep .' || fail "lab-app is left"

# A package that others have upgraded since is not restored together with one of its step.
package lab-one 1 ''
package lab-two 1 ''
repository
on node 'apt-get install -y lab-one lab-two' >/dev/null 2>&1
package lab-one 2 ''
package lab-two 2 ''
repository
exits 0 step 'gpuadm_run=pair; packages_install lab-one=2 lab-two=2; journal_close'
exits 0 step 'undo_packages_beside lab-one "ii 1"'
[ "$(paste -sd' ' out)" = 'lab-one=1 lab-two=1' ] || fail "$(cat out)"
package lab-two 3 ''
repository
on node 'apt-get install -y lab-two=3' >/dev/null 2>&1
exits 0 step 'undo_packages_beside lab-one "ii 1"'
[ "$(cat out)" = 'lab-one=1' ] || fail "$(cat out)"

# apt-cache pads short versions.
package nvidia-container-toolkit 1.19.1-1 ''
repository
exits 0 step 'toolkit_version=1.19.1; toolkit_is_offered'
exits 1 step 'toolkit_version=1.19; toolkit_is_offered'

# Another program has the locks for ten seconds each.
hold() { # hold FILE
  on node "nohup python3 -c 'import fcntl, time; f = open(\"$1\", \"w\"); fcntl.lockf(f, fcntl.LOCK_EX); time.sleep(10)' >/dev/null 2>&1 & sleep 1"
}
hold /var/lib/dpkg/lock-frontend
exits 0 step 'packages_install lab-plain'
hold /var/lib/apt/lists/lock
exits 0 step apt_update
