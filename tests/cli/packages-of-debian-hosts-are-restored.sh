#!/usr/bin/env bash
# Packages that gpuadm installs on a Debian host are removed again, with what apt installs in addition: purged, except those whose
# configuration files were left from before. apt and dpkg are doubles that keep a line "NAME STATE VERSION" for each package.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files=undo

mkdir -p bin
cat >bin/dpkg-query <<END
#!/bin/sh
[ ! -e $place/damaged ] || exit 2
for name in "\$@"; do :; done
awk -v name="\$name" '\$1 == name { print "all", \$2, \$3; found = 1 } END { exit !found }' $place/packages
END
# dpkg --purge NAME: only what is not installed.
cat >bin/dpkg <<END
#!/bin/sh
[ "\$1" != --print-architecture ] || { echo amd64; exit; }
echo "dpkg \$*" >>$place/calls
grep -q "^\$2 rc" $place/packages && sed -i "/^\$2 /d" $place/packages
END
# apt knows no name that is not in the file. A package that needs one of them is removed with it.
cat >bin/apt-get <<END
#!/bin/sh
verb= names= simulates=
while [ \$# -gt 0 ]; do
  case \$1 in
    -s) simulates=yes ;;
    -o) shift ;;
    -*) ;;
    *) if [ -z "\$verb" ]; then verb=\$1; else names="\$names \${1%%=*}"; fi ;;
  esac
  shift
done
if [ "\$verb" = install ]; then
  if [ -n "\$simulates" ]; then
    [ ! -e $place/broken ] || { echo 'E: Unable to correct problems, you have held broken packages.' >&2; exit 100; }
    exec cat $place/simulation
  fi
  echo "apt-get install" >>$place/calls
  awk '\$1 == "Inst" { print \$2 }' $place/simulation | while read -r name; do
    sed -i "/^\$name /d" $place/packages
    echo "\$name ii 2" >>$place/packages
  done
  exit
fi
[ ! -e $place/failing ] || { echo 'E: The list of sources could not be read.' >&2; exit 100; }
for name in \$names; do
  grep -q "^\$name " $place/packages || { echo "E: Unable to locate package \$name" >&2; exit 100; }
  [ -n "\$simulates" ] || sed -i "s/^\$name ../\$name rc/" $place/packages
done
[ -z "\$simulates" ] || cat $place/removed
END
printf '#!/bin/sh\n' >bin/apt-mark
chmod +x bin/*
journal() { cut -f 1-3 host/journal/log | tr '\t' ' '; }
undo() { in_step "kind=packages name='$1' was=absent now= reader=; undo_is_done || { undo_apply && undo_is_done; }"; }

# kubelet was removed and not purged; kubeadm is selected, and was never installed.
printf '%s\n' 'kubelet rc 1' 'kubeadm in ' 'libc6 ii 1' >packages
printf '%s\n' 'Inst conntrack (2)' 'Inst kubelet (2)' 'Inst kubeadm (2)' 'Conf kubelet (2)' >simulation

# What apt does not know is not installed: the journal would not have it.
: >broken
for step in 'packages_install kubelet=2 kubeadm=2' 'packages_install_version 2 kubelet'; do
  exits 100 in_step "$step"
  complains 'you have held broken packages'
  [ ! -e calls ] || fail "$step: it was: $(cat calls)"
done
rm -r broken host
exits 0 in_step 'packages_install kubelet=2 kubeadm=2'
rm calls
: >damaged
exits 0 in_step 'journal_package kubectl'
rm damaged
[ "$(journal)" = "package conntrack absent
package kubelet rc 1
package kubeadm absent
package kubectl unknown" ] || fail "the journal is $(cat host/journal/log)"

# What is removed with them must be known.
exits 100 in_step 'apt_remove() { :; }; apt_changes purge unheard-of'
complains 'Unable to locate package unheard-of'

# Where apt cannot say what would be removed, nothing is.
mv removed removed.away 2>/dev/null || :
: >failing
exits 100 undo 'kubelet kubeadm'
grep -q '^kubelet ii' packages || fail "kubelet is removed"
rm failing

# Nothing else is removed with them; conntrack was removed when undo was interrupted.
printf '%s\n' 'Purg kubelet [2]' 'Purg kubeadm [2]' 'Purg theirs [2]' >removed
exits 3 undo 'kubelet kubeadm conntrack'
complains 'theirs depends on packages that gpuadm installed'
grep -q '^kubelet ii' packages || fail "kubelet is removed"
sed -i /theirs/d removed
sed -i /conntrack/d packages
exits 0 undo 'kubelet kubeadm conntrack'
[ "$(sort packages)" = "kubelet rc 2
libc6 ii 1" ] || fail "the packages are $(cat packages)"
[ "$(cat calls)" = 'dpkg --purge kubeadm' ] || fail "it was: $(cat calls)"
