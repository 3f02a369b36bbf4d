#!/usr/bin/env bash
# A step repeats a request to an API server or to etcd whose failure passes, for a minute, with the same input, and prints the last answer alone. A
# definite answer is not asked for again, and a check asks once. kubectl is a double; the errors are quoted from kubectl and etcd.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
export step_files=verify
mkdir -p bin host/lock
# It fails as often as $place/left says, with the text of $place/error.
cat >bin/kubectl <<'END2'
#!/bin/sh
echo x >>"$place/asked"
case " $* " in *' - '*) cat >>"$place/input" ;; esac
times=$(cat "$place/left")
if [ "$times" -gt 0 ]; then
  echo $((times - 1)) >"$place/left"
  echo half
  cat "$place/error" >&2
  exit 1
fi
echo answer
END2
chmod +x bin/kubectl
export place PATH=$place/bin:$PATH
# asks STATUS TIMES ERROR NUMBER [PROGRAM]: the number of requests until that status
asks() {
  echo "$2" >left
  printf '%s\n' "$3" >error
  : >asked
  exits "$1" in_step "gpuadm_lock=\$gpuadm_home/lock ${5:-request_again=60 && kube get nodes}"
  [ "$(wc -l <asked)" = "$4" ] || fail "kubectl was called $(wc -l <asked) times, not $4: $3"
}
while IFS= read -r error; do
  asks 0 1 "$error" 2
  [ "$(cat out)" = answer ] || fail "it printed: $(cat out)"
done <<'END'
The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?
Error from server (ServiceUnavailable): the server is currently unable to handle the request
Error from server (TooManyRequests): the server has received too many requests and has asked us to try again later
Error from server (InternalError): an error on the server ("Bad Gateway") has prevented the request from succeeding
Error from server: etcdserver: unhealthy cluster
Error from server: etcdserver: request timed out
Error from server: etcdserver: leader changed
Unable to connect to the server: net/http: TLS handshake timeout
Unable to connect to the server: EOF
Error from server (Timeout): the server was unable to return a response in the time allotted, but may still be processing the request
{"level":"warn","msg":"retrying of unary invoker failed","error":"rpc error: code = Unavailable desc = etcdserver: unhealthy cluster"}
Error: context deadline exceeded
END
while IFS= read -r error; do
  asks 1 9 "$error" 1
  complains "$error"
done <<'END'
Error from server (Forbidden): nodes "one" is forbidden: User "x" cannot get resource: etcdserver: request timed out
Error from server (NotFound): nodes "one" not found
Error from server (AlreadyExists): configmaps "gpuadm" already exists
error: You must be logged in to the server (Unauthorized)
error: the server doesn't have a resource type "devicetaintrules"
error: stat /etc/kubernetes/admin.conf: no such file or directory
Unable to connect to the server: x509: certificate has expired or is not yet valid
etcdserver: re-configuration failed due to not enough started members
END

# The time ends; a check asks once; the input of each attempt is the same.
refused='connection refused'
echo 99 >left
echo "$refused" >error
: >asked
exits 1 in_step "gpuadm_lock=\$gpuadm_home/lock request_again=3 && kube get nodes"
complains "$refused"
[ "$(wc -l <asked)" -ge 2 ] || fail "kubectl was called once"
asks 1 99 "$refused" 1 'kube get nodes'
: >input
asks 0 2 "$refused" 3 'request_again=60 && printf "%s\n" object | kube create -f -'
[ "$(cat input)" = "$(printf 'object\nobject\nobject')" ] || fail "the input was $(cat input)"
[ -z "$(ls host/lock)" ] || fail "files are left: $(ls host/lock)"

# A step sets it for what it applies, and for the check after it.
{
  for file in prelude package-managers; do "$GPUADM" assets show "playbooks/$file.sh"; done
  cat <<'END'
gpuadm_home=$place/step gpuadm_lock=$place/step/lock gpuadm_journal=$place/step/journal gpuadm_run=r gpuadm_client=c gpuadm_owner=o gpuadm_step=s PATH=$place/bin:$PATH
mkdir -p "$gpuadm_lock" && lock_line >"$gpuadm_lock/owner"
step_check() { [ -e "$place/step/done" ] || { kube get nodes >/dev/null 2>&1 || exit 1; } && kube get nodes >/dev/null; }
step_apply() { kube get nodes && : >"$place/step/done" && echo 1 >"$place/left"; }
step_needs_reboot() { return 1; }
step_run
END
} >step.sh
echo 2 >left
echo "$refused" >error
: >asked
exits 101 sh step.sh
# The check, two attempts of what it applies, two of the check after it.
[ "$(wc -l <asked)" = 5 ] || fail "kubectl was called $(wc -l <asked) times"
