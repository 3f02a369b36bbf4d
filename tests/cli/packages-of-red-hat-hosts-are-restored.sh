#!/usr/bin/env bash
# The journal of a Red Hat host has one valid line for each package that a step installs, with those that dnf changes in addition, and undo
# removes no others. rpm is a double with the answers of rpm 4.19; dnf is one.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files=undo

mkdir -p bin
cat >bin/rpm <<END
#!/bin/sh
if [ -e $place/damaged ]; then
  echo "error: cannot open Packages database in /var/lib/rpm" >&2
elif grep "^\$2-[0-9]" $place/installed; then
  exit 0
fi
echo "package \$2 is not installed"
exit 1
END
chmod +x bin/*
printf '%s\n' rpm-4.19.1-1.el9.x86_64 glibc-2.34-1.el9.x86_64 glibc-2.34-1.el9.i686 >installed
on_red_hat() { in_step "package_manager() { echo dnf; }
$1"; }
journal() { cut -f 1-3 host/journal/log | tr '\t' ' '; }

# What is installed in several architectures, what is not installed, and a database that cannot be read.
exits 0 on_red_hat 'journal_package glibc; journal_package socat'
: >damaged
exits 0 on_red_hat 'journal_package kubelet'
rm damaged
[ "$(journal)" = "package glibc glibc-2.34-1.el9.x86_64 glibc-2.34-1.el9.i686
package socat absent
package kubelet unknown" ] || fail "the journal is $(cat host/journal/log)"
exits 0 on_red_hat undo_lines
[ "$(grep -c '^log' out)" = 3 ] || fail "undo does not read the journal: $(cat out)"
exits 0 on_red_hat 'kind=package name=kubelet was=unknown; undo_is_done'

# What dnf changes in addition, as its versions 4 and 5 print it.
cat >bin/dnf <<END
#!/bin/sh
case " \$* " in
  *' --assumeno '*)
    cat $place/table
    cat $place/failure >&2 2>/dev/null
    [ -e $place/nothing ]
    ;;
  *) echo "\$*" >>$place/calls ;;
esac
END
chmod +x bin/dnf
cat >table <<END
Last metadata expiration check: 0:12:30 ago on Fri Nov 27 10:00:00 2026.
Dependencies resolved.
================================================================================
 Package         Arch   Version                       Repository           Size
================================================================================
Installing:
 containerd.io   x86_64 1.7.27-3.1.el9                docker-ce-stable     44 M
     replacing  runc.x86_64 4:1.1.12-2.el9
Upgrading:
 glibc           x86_64 2.34-2.el9                    baseos              2.0 M
Installing dependencies:
 container-selinux-with-a-name-that-is-long
                 noarch 3:2.229.0-1.el9               appstream            49 k

Transaction Summary
================================================================================
Install  2 Packages
END
printf '%s\n' runc-1.1.12-2.el9.x86_64 >>installed
rm -rf host
exits 0 on_red_hat 'packages_install containerd.io'
[ "$(journal)" = "package containerd.io absent
package runc runc-1.1.12-2.el9.x86_64
package glibc glibc-2.34-1.el9.x86_64 glibc-2.34-1.el9.i686
+package glibc any
package container-selinux-with-a-name-that-is-long absent" ] || fail "the journal is $(cat host/journal/log)"
[ "$(cat calls)" = "install -y containerd.io" ] || fail "it was: $(cat calls)"

rm -rf host calls
cat >table <<END
Updating and loading repositories:
Repositories loaded.
Package           Arch   Version        Repository      Size
Installing:
 kubelet          x86_64 1.36.2-150500  kubernetes  50.0 MiB
   replacing runc x86_64 4:1.1.12-2     <unknown>   10.0 MiB
Installing dependencies:
 socat            x86_64 1.8.0-1.fc42   fedora       1.0 MiB

Transaction Summary:
 Installing:        2 packages
END
exits 0 on_red_hat 'packages_install_version "1.36.2-*" kubelet'
[ "$(journal | cut -d' ' -f2 | paste -sd' ')" = 'kubelet runc socat' ] || fail "the journal is $(cat host/journal/log)"
[ "$(cat calls)" = "install -y --setopt=disable_excludes=kubernetes kubelet-1.36.2-*" ] || fail "it was: $(cat calls)"

# What dnf does not know is not installed: the journal would not have it. There may also be nothing to do.
rm calls
cat >table <<END
Updating and loading repositories:
END
echo "Failed to download metadata for repo 'baseos'" >failure
for step in 'packages_install containerd.io' 'packages_install_version "1.36.2-*" kubelet' 'dnf_remove kubelet socat'; do
  exits 1 on_red_hat "$step"
  complains "Failed to download metadata"
  [ ! -e calls ] || fail "$step: it was: $(cat calls)"
done
exits 3 on_red_hat 'packages_install containerd.io || die "add the repository"'
complains 'add the repository'
echo 'Nothing to do.' >table
rm failure
: >nothing
exits 0 on_red_hat 'packages_install containerd.io'
[ "$(cat calls)" = 'install -y containerd.io' ] || fail "it was: $(cat calls)"
rm nothing

# Only these are removed, and one that was replaced is installed again.
rm calls
cat >table <<END
Removing:
 kubelet          x86_64 1.36.2-150500  @kubernetes  50 M
 theirs           x86_64 1              @theirs      50 M

Transaction Summary
END
exits 3 on_red_hat 'dnf_remove kubelet socat'
complains 'theirs depends on packages that gpuadm installed (kubelet socat)'
[ ! -e calls ] || fail "it was: $(cat calls)"
sed -i /theirs/d table
exits 0 on_red_hat 'dnf_remove kubelet socat'
exits 0 on_red_hat 'dnf_restore glibc "glibc-2.34-0.el9.x86_64 glibc-2.34-0.el9.i686"'
exits 0 on_red_hat 'dnf_restore socat socat-1.8.0-1.el9.x86_64'
[ "$(cat calls)" = "remove -y --noautoremove kubelet socat
--setopt=disable_excludes=kubernetes downgrade -y glibc-2.34-0.el9.x86_64 glibc-2.34-0.el9.i686
--setopt=disable_excludes=kubernetes install --allowerasing -y socat-1.8.0-1.el9.x86_64" ] || fail "it was: $(cat calls)"

# What dnf does not have is a reason; a repository that does not answer is none.
echo 'Error: No packages marked for downgrade.' >table
exits 0 on_red_hat 'dnf_cannot glibc glibc-2.34-0.el9.x86_64'
says 'No packages marked for downgrade'
echo "Errors during downloading metadata for repository 'baseos'" >table
exits 0 on_red_hat 'dnf_cannot glibc glibc-2.34-0.el9.x86_64'
[ ! -s out ] || fail "$(cat out)"
