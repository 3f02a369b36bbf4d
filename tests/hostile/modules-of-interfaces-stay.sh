#!/usr/bin/env bash
# Undo does not unload the module of interfaces that exist in any network namespace, such as those of containers, and does not end the forwarding
# of Docker or libvirt.
. "$(dirname "$0")/common"

mkdir -p bin
used() { # used NAME [FUNCTIONS]: as undo says
  step one undo.sh <<END
PATH=$place/bin:\$PATH
${2:-}
if undo_is_used $1; then echo used; else echo unused; fi
END
  cat out
}
unshare -n sh -c 'ip link add one type veth peer name two && echo >ready && while [ -e goes-on ]; do sleep 0.2; done' &
for _ in $(seq 100); do [ ! -e ready ] || break && sleep 0.1; done
[ "$(used veth)" = used ] || fail "veth is not used: $(cat out)"
printf '#!/bin/sh\n' >bin/nsenter && chmod +x bin/nsenter
[ "$(used veth)" = unused ] || fail "veth: $(cat out)"
[ "$(used dummy)" = unused ] || fail "dummy: $(cat out)"

# shellcheck disable=SC2016 # expanded where it runs
for name in br_netfilter net/ipv4/ip_forward; do
  [ "$(used $name 'unit_is_active() { [ "$1" = libvirtd.service ]; }')" = used ] || fail "$name: $(cat out)"
  [ "$(used $name 'unit_is_active() { return 1; }')" = unused ] || fail "$name: $(cat out)"
done
# The plan shows that it will be restored; whether it is used counts when it would be.
for now in preview:1 step:0; do
  step one undo.sh <<END
unit_is_active() { return 0; }
thing_now() { echo 1; }
kind=sysctl name=net/ipv4/ip_forward was=0 gpuadm_step=${now%:*}
if undo_is_done; then echo 0; else echo 1; fi
END
  [ "$(cat out)" = "${now#*:}" ] || fail "$now: $(cat out)"
done
