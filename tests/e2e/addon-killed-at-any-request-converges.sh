#!/usr/bin/env bash
# gpuadm is killed before and after each request of `addon enable` and `addon disable` that changes something, and while the add-on starts.
# After each kill the same command converges, and disable leaves nothing.
. "$(dirname "$0")/common"

prometheus=$(lab prometheus)
ready_nodes 1 one
on one 'ctr -n k8s.io images import -' <"$prometheus" >/dev/null
mkdir -p assets/playbooks
sed 's,^  prometheus_image: .*,  prometheus_image: lab.local/prometheus:1,' "$top/playbooks/catalog.yaml" >assets/playbooks/catalog.yaml
# The request number $(cat /root/stop) that changes something waits for the test, and ends without having done anything (before), or
# after it was done (after).
for file in objects storage-claim; do
  {
    cat <<'END'
# shellcheck shell=sh
case $action in
  create | apply | patch | delete | delete-exact | make | drop | class | class-drop)
    number=$(($(cat /root/number 2>/dev/null || echo 0) + 1))
    echo "$number" >/root/number
    stop_here() {
      : >/root/reached
      while [ -e /root/reached ]; do sleep 0.2; done
    }
    if [ "$number" = "$(cat /root/stop 2>/dev/null)" ]; then
      case $(cat /root/when) in
        before) stop_here && exit 1 ;;
        after) trap stop_here EXIT ;;
      esac
    fi
    ;;
esac
END
    cat "$top/playbooks/$file.sh"
  } >"assets/playbooks/$file.sh"
done
addon() { gpuadm addon "$1" prometheus -f cluster.yaml --assets assets "${@:2}"; }
kube() { administer one "$@"; }
objects() {
  kube get namespaces,serviceaccounts,configmaps,secrets,services,deployments,daemonsets,pods,persistentvolumeclaims,persistentvolumes,clusterroles,clusterrolebindings,roles,rolebindings -A \
    -o 'custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name' --no-headers | tr -s ' ' | sort
}
leaves_nothing() {
  objects >objects.now
  diff objects.before objects.now >objects.diff || fail "$1: $(cat objects.diff)"
}
no_test_is_left() { [ -z "$(kube get namespace gpuadm-verify --ignore-not-found -o name)" ]; }
within 240 "the namespace of the network test to be deleted" no_test_is_left
exits 0 gpuadm storage add scratch local --host one --path /data -f cluster.yaml -y
objects >objects.before

# killed_at NUMBER WHEN COMMAND...: fails if the command ends with fewer requests.
killed_at() {
  local deadline=$((SECONDS + 300))
  on one "rm -f /root/number /root/reached; echo $1 >/root/stop; echo $2 >/root/when"
  begins "${@:3}" -f cluster.yaml --assets assets -y
  until on one test -e /root/reached; do
    if ! kill -0 "$running" 2>/dev/null; then
      wait "$running" || fail "it failed before the request $1: ${*:3}"
      on one 'rm -f /root/stop'
      return 1
    fi
    [ "$SECONDS" -lt "$deadline" ] || fail "the request $1 is not reached: ${*:3}"
    sleep 0.2
  done
  kill -9 "$running"
  wait "$running" || :
  on one 'rm -f /root/stop /root/reached'
  kills=$((kills + 1))
}
kills=0
enable=(addon enable prometheus --set storage=scratch)
for when in before after; do
  for number in 1 2 3 4 5 6 7 8; do
    killed_at "$number" "$when" "${enable[@]}" || break
    # Every second one is withdrawn as it is.
    if [ $((number % 2)) = 1 ]; then
      exits 0 addon enable --set storage=scratch -y
      says "the add-on prometheus is enabled"
    fi
    exits 0 addon disable -y
    leaves_nothing "enable, killed $when the request $number"
  done
  exits 0 addon disable -y
done
[ "$kills" -ge 6 ] || fail "enable was killed at $kills requests only"
leaves_nothing "enable"

# While the pods start, and during the proof.
rm -f err
begins "${enable[@]}" -f cluster.yaml --assets assets -y
is_waiting() { grep -q 'prometheus: waiting' err; }
within 240 "the pods to start" is_waiting
kill -9 "$running"
wait "$running" || :
exits 0 addon enable --set storage=scratch -y

kills=0
for when in before after; do
  for number in 1 2 3 4 5; do
    killed_at "$number" "$when" addon disable prometheus || break
    exits 0 addon disable -y
    leaves_nothing "disable, killed $when the request $number"
    exits 0 addon enable --set storage=scratch -y
  done
  exits 0 addon disable -y
  leaves_nothing "disable"
  [ "$when" = after ] || exits 0 addon enable --set storage=scratch -y
done
[ "$kills" -ge 4 ] || fail "disable was killed at $kills requests only"
