#!/usr/bin/env bash
# --list-phases shows all phases in the order in which they run, and connects to nothing.
. "$(dirname "$0")/common"

exits 0 gpuadm init --list-phases nobody@127.0.0.1:1
sed -nE 's/^ +- \{ phase: ([a-z/-]+), .*/\1/p' "$top/playbooks/init.yaml" >phases
[ "$(wc -l <phases)" -ge 30 ] || fail "playbooks/init.yaml has only $(wc -l <phases) phases"
awk '{ print $1 }' out | grep / | diff phases - || fail "the phases are others than those of playbooks/init.yaml, or in another order"
[ "$(awk '{ print $1 }' out | grep -xE 'connect|facts|preflight|plan|lock|os/swap|kube/init|network/cluster|verify/cluster|unlock|report' | paste -sd' ')" = \
  "connect facts preflight plan lock os/swap kube/init network/cluster verify/cluster unlock report" ] || fail "the order is another"
