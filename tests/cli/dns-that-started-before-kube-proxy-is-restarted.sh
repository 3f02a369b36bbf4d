#!/usr/bin/env bash
# CoreDNS that started before kube-proxy is restarted rather than waited for; pods that are ready, started later or are being deleted
# are unchanged, and pods that start just now are awaited. kubectl is a double that prints what a cluster of Kubernetes 1.36 printed,
# with other times.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
mkdir -p bin
cat >bin/kubectl <<'END2'
#!/bin/sh
case "$*" in
  *"delete pod"*) printf '%s\n' "$*" >>"$place/deleted" && mv "$place/later" "$place/pods" ;;
  *"get pods,deployments"*) cat "$place/pods" ;;
esac
END2
chmod +x bin/kubectl
export place PATH=$place/bin:$PATH
ago() { date -u -d "-$1 seconds" +%FT%TZ; }
proxy() { printf 'kube-proxy|one|kube-proxy-8z4ls|true|%s||\n' "$(ago "$1")"; }
wanted() { printf 'kube-dns||coredns|||||%s\n' "$1"; } # wanted REPLICAS
# pod NAME READY SECONDS-AGO|'' [DELETED [WAITS [NODE]]]
pod() { printf 'kube-dns|%s|%s|%s|%s|%s|%s\n' "${6:-one}" "$1" "$2" "${3:+$(ago "$3")}" "${4:-}" "${5:-}"; }

# settled ROW...: whether nothing is to be restarted or awaited.
settled() {
  printf '%s\n' "$@" >pods
  in_step verify_dns_is_settled
}
exits 0 settled "$(proxy 60)"
exits 0 settled "$(proxy 60)" "$(pod coredns-a true 59)"
exits 0 settled "$(proxy 60)" "$(pod coredns-a false 45)"
exits 0 settled "$(proxy 60)" "$(pod coredns-a false '')"
exits 0 settled "$(proxy 60)" "$(pod coredns-a false 70 '' '' two)"
exits 0 settled "$(proxy 60)" "$(pod coredns-a false 70 "$(ago 5)")"
exits 0 settled "$(proxy 5)" "$(pod coredns-a false '' '' ImagePullBackOff)"
exits 1 settled "$(proxy 60)" "$(pod coredns-a false 57)"
exits 1 settled "$(proxy 60)" "$(pod coredns-a false 70)" "$(pod coredns-b true 70)"
exits 1 settled "$(proxy 5)" "$(pod coredns-a false 1)"
exits 1 settled "$(proxy 5)" "$(pod coredns-a false '' '' ContainerCreating)"
exits 1 settled "$(proxy 5)" "$(pod coredns-a false '')"
# A pod that is not scheduled yet, or does not exist yet.
exits 1 settled "$(proxy 5)" "kube-dns||coredns-a|||||"
exits 0 settled "$(proxy 25)" "kube-dns||coredns-a|||||"
exits 1 settled "$(wanted 2)" "$(proxy 5)" "$(pod coredns-a true 3)"
exits 0 settled "$(wanted 2)" "$(proxy 25)" "$(pod coredns-a true 3)"
exits 0 settled "$(wanted 1)" "$(proxy 5)" "$(pod coredns-a true 3)"
exits 1 settled "$(wanted 1)" "$(proxy 5)" "$(pod coredns-a false 70 "$(ago 1)")"
exits 0 settled "$(wanted 1)" "$(pod coredns-a false 70 "$(ago 1)")"

# kube-proxy has not started yet on the node of a pod that is not ready.
exits 1 settled "kube-proxy|one|kube-proxy-8z4ls|false||||" "$(pod coredns-a false '' '' ContainerCreating)"
exits 1 settled "kube-proxy|one|kube-proxy-8z4ls|false||||" "$(pod coredns-a false 9)"
exits 0 settled "kube-proxy|one|kube-proxy-8z4ls|false||||" "$(pod coredns-a true 9)"

# An API server that does not answer is left to the wait for CoreDNS.
mv bin/kubectl bin/kubectl.off
printf '#!/bin/sh\nexit 1\n' >bin/kubectl
chmod +x bin/kubectl
exits 0 in_step verify_dns_is_settled
mv bin/kubectl.off bin/kubectl

# restart: the step's apply, and its check, in a run of its own.
restart() {
  rm -rf lock && mkdir lock
  in_step "gpuadm_lock=$place/lock; verify_dns_restart && verify_dns_is_settled"
}
{ proxy 60 && pod coredns-b false 30; } >later
printf '%s\n' "$(proxy 60)" "$(pod coredns-a false 58)" >pods
exits 0 restart
[ "$(grep -c . deleted)" = 1 ] || fail "other pods were deleted: $(cat deleted)"
grep -q 'delete pod coredns-a ' deleted || fail "it was not restarted"

# A pod that has just started is restarted once it was not ready for 3 s.
rm deleted
{ proxy 11 && pod coredns-d false 0; } >later
printf '%s\n' "$(proxy 11)" "$(pod coredns-c false 2)" >pods
exits 0 restart
grep -q 'delete pod coredns-c ' deleted || fail "it was not restarted"

# The check of the same run is satisfied, whatever pods do afterwards.
[ -e lock/dns-restarted ] || fail "the restart is not recorded"
printf '%s\n' "$(proxy 5)" "$(pod coredns-e false '')" >pods
exits 1 in_step verify_dns_is_settled
exits 0 in_step "gpuadm_lock=$place/lock; verify_dns_is_settled"
