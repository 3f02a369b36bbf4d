#!/usr/bin/env bash
# CoreDNS that started before kube-proxy is restarted rather than waited for; pods that are ready, started later, or have not
# started are unchanged. kubectl is a double that prints what a cluster of Kubernetes 1.36 printed, with other times.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
mkdir -p bin
cat >bin/kubectl <<'END2'
#!/bin/sh
case "$*" in
  *"delete pod"*) printf '%s\n' "$*" >>"$place/deleted" && mv "$place/later" "$place/pods" ;;
  *"get pods"*) cat "$place/pods" ;;
esac
END2
chmod +x bin/kubectl
export place PATH=$place/bin:$PATH
row() { printf '%s %s %s %s %s\n' "$@"; }
proxy=$(row kube-proxy one kube-proxy-8z4ls true 2026-11-26T22:17:57Z)

# started ROW...: whether none is to be restarted.
started() {
  printf '%s\n' "$proxy" "$@" >pods
  in_step verify_dns_has_restarted
}
exits 0 started
exits 0 started "$(row kube-dns one coredns-a true 2026-11-26T22:17:58Z)"
exits 0 started "$(row kube-dns one coredns-a false 2026-11-26T22:18:01Z)"
exits 0 started "$(row kube-dns one coredns-a false '')"
exits 0 started "$(row kube-dns two coredns-a false 2026-11-26T22:17:00Z)"
exits 1 started "$(row kube-dns one coredns-a false 2026-11-26T22:18:00Z)"
exits 1 started "$(row kube-dns one coredns-a false 2026-11-26T22:17:00Z)" "$(row kube-dns one coredns-b true 2026-11-26T22:17:00Z)"

# An API server that does not answer is left to the wait for CoreDNS.
mv bin/kubectl bin/kubectl.off
printf '#!/bin/sh\nexit 1\n' >bin/kubectl
chmod +x bin/kubectl
exits 0 in_step verify_dns_has_restarted
mv bin/kubectl.off bin/kubectl

printf '%s\n' "$proxy" "$(row kube-dns one coredns-b true 2026-11-26T22:18:04Z)" >later
exits 0 in_step verify_dns_restart
[ "$(grep -c . deleted)" = 1 ] || fail "other pods were deleted: $(cat deleted)"
grep -q 'delete pod coredns-a ' deleted || fail "it was not restarted"
