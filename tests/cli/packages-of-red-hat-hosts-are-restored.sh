#!/usr/bin/env bash
# The journal of a Red Hat host has one valid line for each package that a step installs. rpm is a double with the answers of rpm 4.19.
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
