#!/usr/bin/env bash
# gpuadm is killed in every step of `storage add`, `storage remove` and `storage remove --purge` in turn; the same command, run again, ends as if
# nothing had happened: storage that was added is on both nodes, files stay unless they were to be deleted, and what was to be deleted is gone.
# While the deletion of the files is interrupted, no claim is made on the storage.
. "$(dirname "$0")/common"

ready_nodes 1 one two
mkdir -m 0755 share
for name in one two; do
  "$top/tests/lib/lab-share" "$place/share" /mnt/share "$(cut -d' ' -f1 "/run/gpuadm-lab/$GPUADM_LAB/hosts/$name/leader")"
done
cp cluster.yaml without.yaml
add=(storage add data path --path /mnt/share -f cluster.yaml -y)
remove=(storage remove data -f cluster.yaml -y)
purge=(storage remove data --purge -f cluster.yaml -y)

# steps_of COMMAND...: the steps that change something, of the whole command.
steps_of() {
  rm -rf .local/state/gpuadm
  exits 0 gpuadm "$@"
  events | sed -n 's/.*"did":"started","host":"[^"]*","stage":"[^"]*","step":"\([^"]*\)".*/\1/p' | awk '!seen[$0]++'
}
# killed STEP COMMAND...: kill -9 in that step. Fails if the command ended before it.
killed() {
  local step=$1 deadline=$((SECONDS + 300))
  shift
  begins "$@"
  until events 2>/dev/null | grep -F >/dev/null "\"step\":\"$step\""; do
    kill -0 "$running" 2>/dev/null || { wait "$running" || :; return 1; }
    [ "$SECONDS" -lt "$deadline" ] || fail "gave up waiting for the step $step"
    sleep 0.05
  done
  kill -9 "$running"
  wait "$running" || :
}
is_added() {
  exits 0 gpuadm storage list -f cluster.yaml
  grep -qE '^data +path +/mnt/share +2/2 ' out || fail "after $1: the list is another"
  exits 0 gpuadm "${add[@]}"
  says "0 changed"
}
is_removed() {
  cmp -s cluster.yaml without.yaml || fail "after $1: the cluster file has the storage"
  on one '! grep -q "name: data" /etc/kubernetes/gpuadm/cluster.yaml' || fail "after $1: the stored cluster file has the storage"
  for name in one two; do absent "$name" /var/lib/gpuadm/storage/data.made || fail "after $1: $name knows the storage"; done
}
# The command ends well, or says that the killed one had finished.
again() { gpuadm "$@" >out 2>err || grep -q 'has no storage named data' err || fail "run again, it fails: $*"; }

adding=$(steps_of "${add[@]}")
is_added "an add"
mkdir -p share/gpuadm-data/claims/default/kept && echo work >share/gpuadm-data/claims/default/kept/file
removing=$(steps_of "${remove[@]}")
is_removed "a removal"
exits 0 gpuadm "${add[@]}"
purging=$(steps_of "${purge[@]}")
is_removed "a purge"
[ -z "$(ls -A share)" ] || fail "the purge left $(ls -A share)"
reached=0

for step in $adding; do
  killed "$step" "${add[@]}" && reached=$((reached + 1))
  exits 0 gpuadm "${add[@]}"
  is_added "kill -9 in $step of an add"
  id=$(cat share/gpuadm-data/id)
  for name in one two; do
    on "$name" "[ \"\$(cat /mnt/share/gpuadm-data/nodes/$name)\" = $id ]" || fail "after kill -9 in $step: $name has not written to the share"
  done
  [ -z "$(find share -name '*.new')" ] || fail "after kill -9 in $step: $(find share -name '*.new')"
  exits 0 gpuadm "${purge[@]}"
done

for step in $removing; do
  exits 0 gpuadm "${add[@]}"
  mkdir -p share/gpuadm-data/claims/default/kept && echo work >share/gpuadm-data/claims/default/kept/file
  killed "$step" "${remove[@]}" && reached=$((reached + 1))
  again "${remove[@]}"
  is_removed "kill -9 in $step of a removal"
  [ "$(cat share/gpuadm-data/claims/default/kept/file)" = work ] || fail "after kill -9 in $step of a removal: files are lost"
done
exits 0 gpuadm "${add[@]}"
exits 0 gpuadm "${purge[@]}"

for step in $purging; do
  exits 0 gpuadm "${add[@]}"
  exits 0 gpuadm storage claim models --size 1Gi --on data -f cluster.yaml
  echo work >share/gpuadm-data/claims/default/models/file
  killed "$step" "${purge[@]}" && reached=$((reached + 1))
  again "${purge[@]}"
  is_removed "kill -9 in $step of a purge"
  [ -z "$(ls -A share)" ] || fail "after kill -9 in $step of a purge: left $(find share)"
  prints_nothing one 'kubectl --kubeconfig /etc/kubernetes/admin.conf get pvc,pv -A -o name' || fail "after kill -9 in $step of a purge: a claim is left"
done

# As soon as the hosts are locked: claims are refused, until the removal is finished, or the storage is added again.
exits 0 gpuadm "${add[@]}"
exits 0 gpuadm storage claim models --size 1Gi --on data -f cluster.yaml
echo work >share/gpuadm-data/claims/default/models/file
begins "${purge[@]}"
until [ -e share/gpuadm-data/removal ]; do kill -0 "$running" 2>/dev/null || fail "the removal did not mark the storage"; done
kill -9 "$running"
wait "$running" || :
[ "$(cat share/gpuadm-data/claims/default/models/file)" = work ] || fail "files are deleted before the claims"
exits 1 gpuadm storage claim more --size 1Gi --on data -f cluster.yaml
complains "the storage data is being removed"
exits 0 gpuadm "${add[@]}"
[ ! -e share/gpuadm-data/removal ] || fail "the storage is still marked"
[ "$(cat share/gpuadm-data/claims/default/models/file)" = work ] || fail "files are lost"
exits 0 gpuadm storage claim more --size 1Gi --on data -f cluster.yaml
exits 0 gpuadm "${purge[@]}"
[ -z "$(ls -A share)" ] || fail "the purge left $(ls -A share)"
total=$(printf '%s\n' "$adding" "$removing" "$purging" | wc -w)
echo "killed in $reached of $total steps"
[ "$reached" -ge $((total - 2)) ] || fail "only $reached of $total steps were reached"
