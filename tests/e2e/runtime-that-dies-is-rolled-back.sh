#!/usr/bin/env bash
# A setting that the runtime's own reader refuses is never written; one that it reads and then exits is rolled back within 30 s,
# the runtime answers, and the report says what happened.
. "$(dirname "$0")/common"

# with_patch PATCH: a cluster file that merges it into the runtime's configuration.
with_patch() {
  "$top/tests/lib/lab-cluster" node >cluster.yaml # it ends with `patches`
  printf '  runtime: %s\nkubernetes: { version: "%s" }\nruntime: { engine: %s }\n' "$1" "$(kubernetes_version)" "$engine" >>cluster.yaml
}
pid() { on node systemctl show --property=MainPID --value "$engine"; }
state() { on node "find /etc/containerd /etc/docker -type f -exec sha256sum {} + 2>/dev/null || :" | sort; }

# dies_of PATCH COMMAND: it is rolled back, and COMMAND works with the runtime on the host.
dies_of() {
  local begun
  with_patch "$1"
  state >before
  begun=$SECONDS
  exits 1 gpuadm runtime configure -f cluster.yaml -y
  printf '%s: over after %s s\n' "$engine" $((SECONDS - begun))
  [ $((SECONDS - begun)) -le 30 ] || fail "it took $((SECONDS - begun)) s"
  says "did not start with the new configuration (it responded before)"
  says "responds again"
  state | diff before - || fail "the files are not what they were"
  on node "$2" >out 2>err || fail "$engine does not answer"
}

engine=containerd
# containerd 2 gets its own file, next to the one that imports it.
images=$(printf '%s\n' "$(lab fitting containerd)" trixie-containerd-2 | sort -u)
for image in $images; do
  a_host node --image "$image"
  dies_of '{ grpc: { address: /proc/nowhere/containerd.sock } }' 'ctr version && ctr plugins ls | grep -q "cri .*ok"'
  # Its own reader refuses this one: it is not restarted.
  with_patch '{ plugins: { io.containerd.grpc.v1.cri: { sandbox_image: 7 } } }'
  state >before
  before=$(pid)
  exits 1 gpuadm runtime configure -f cluster.yaml -y
  says "was not changed: the program that reads it rejects"
  [ "$(pid)" = "$before" ] || fail "it was restarted"
  state | diff before - || fail "something was written"
  lab down node
done

if ! has_dockershim; then
  leaves_out "Docker: $(no_dockershim)"
  exit
fi
engine=docker
a_host node --image "$(lab fitting docker)"
dies_of '{ data-root: /proc/nowhere }' 'docker version'
