#!/usr/bin/env bash
# gpuadm train on two real nodes: ranks meet through a Service, logs and exit codes are those of the job, a rank that dies ends all, a job that
# does not fit or does not start leaves nothing, files of --src arrive, MPI ranks reach each other over SSH, a job is stopped and resumed.
. "$(dirname "$0")/common"

ready_nodes 1 one two
"$top/tests/lib/rank-image" rank.tar
for name in one two; do
  on "$name" "ctr -n k8s.io images import - >/dev/null" <rank.tar 2>err || fail "the image was not imported on $name"
done
admin() { on one kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s "$@"; }
# Ranks need two nodes, and the control plane is one of them.
for taint in master control-plane; do admin taint nodes one "node-role.kubernetes.io/$taint-" >out 2>err || :; done
train() { gpuadm train "$1" "${@:2}" -f cluster.yaml; }
# run NAME OPTION... -- COMMAND...
run() {
  local name=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  gpuadm train run "$name" -f cluster.yaml --gpus "${gpus:-0}" --image "${image:-lab.local/rank:1}" --wait "${wait:-240}" "${options[@]}" "$@"
}
leaves_nothing() { # leaves_nothing NAME
  [ -z "$(admin get jobs,pods,services,secrets,configmaps -l "gpuadm.io/name=$1" -o name)" ] || fail "something of $1 is left"
}

# Rank 0 listens at MASTER_PORT of its own address; the others send it their rank.
mkdir src
cat >src/meet.pl <<'END'
use IO::Socket::INET;
$| = 1;
my ($rank, $size, $address, $port) = @ENV{qw(RANK WORLD_SIZE MASTER_ADDR MASTER_PORT)};
print "rank $rank of $size, PET $ENV{PET_NODE_RANK}/$ENV{PET_NNODES}\n";
if ($rank == 0) {
  my $server = IO::Socket::INET->new(LocalAddr => $address, LocalPort => $port, Listen => 5, ReuseAddr => 1) or die "listen: $!";
  for (2 .. $size) { my $peer = $server->accept; print "got: ", scalar <$peer>; print $peer "welcome\n"; }
} else {
  my $peer;
  for (1 .. 60) { last if $peer = IO::Socket::INET->new(PeerAddr => $address, PeerPort => $port, Timeout => 5); sleep 1; }
  die "no connection to $address" unless $peer;
  print $peer "hello from $rank\n";
  print "answer: ", scalar <$peer>;
}
END
exits 0 gpuadm train check meet -f cluster.yaml --nodes 2 --gpus 0 --image lab.local/rank:1 --no-all-reduce -- true
says "6 passed"
# The image has no PyTorch, so pods of gpuadm-proof test the network of its nodes.
exits 0 gpuadm train check meet -f cluster.yaml --nodes 2 --gpus 0 --image lab.local/rank:1 -o json -- true
complains "an all-reduce between 2 ranks, as train/meet-check"
complains "the image has no PyTorch: it has no python3"
jq -e '[.findings[] | select(.id == "train.all-reduce" and .result == "pass") | .host] | sort == ["one", "two"]' out >/dev/null ||
  fail "gpuadm-proof did not test both nodes"
leaves_nothing meet-check
exits 0 run meet --nodes 2 --src src -- perl meet.pl
says "[0] rank 0 of 2, PET 0/2"
says "[0] got: hello from 1"
says "[1] answer: welcome"
complains "all 2 ranks succeeded"
exits 0 train status meet
says "Succeeded"
exits 0 train list -o json
jq -e '.[0].name == "meet" and (.[0].ranks | length) == 2 and ([.[0].ranks[].node] | unique | length) == 2' out >/dev/null || fail "the list is wrong"
exits 3 run meet --nodes 2 --src src -- perl meet.pl
complains "a training job meet exists"
exits 0 train logs meet --rank 1
says "[1] answer: welcome"
! grep -q '^\[0\]' out || fail "another rank is shown"
exits 0 train stop meet
leaves_nothing meet

# A rank that dies ends all, with its exit code.
began=$SECONDS
# shellcheck disable=SC2016 # expanded in the pod
exits 1 run dies --nodes 2 -- sh -c 'trap "exit 0" TERM; if [ "$RANK" = 1 ]; then sleep 3; exit 7; fi; while :; do sleep 1; done'
complains "rank 1 on"
complains "exit code 7"
[ $((SECONDS - began)) -lt 240 ] || fail "it took $((SECONDS - began)) s"
for _ in $(seq 240); do
  [ -n "$(admin get pods -l gpuadm.io/name=dies --field-selector status.phase=Running -o name)" ] || break
  sleep 1
done
[ -z "$(admin get pods -l gpuadm.io/name=dies --field-selector status.phase=Running -o name)" ] || fail "a rank still runs"
exits 0 train stop dies

# What does not fit is refused before anything exists; what does not start is deleted.
exits 3 run large --nodes 3 -- true
complains "3 nodes needed"
leaves_nothing large
gpus=1 exits 3 run gpus --nodes 2 -- true
complains "GPU"
leaves_nothing gpus
image=lab.local/nosuch:1 wait=60 exits 1 run absent --nodes 2 --ignore train.image-pull -- true
complains "train/absent did not start within 60s: "
complains "Image"
complains "lab.local/nosuch:1"
leaves_nothing absent
exits 1 run nosuch --nodes 1 -- /no/such/program
complains "/no/such/program"
complains "fix: correct the command"
exits 0 train status nosuch
says "details: gpuadm explain pod default/nosuch-"
exits 0 train status nosuch -o json
jq -e '.explanation.message | contains("/no/such/program")' out >/dev/null || fail "no explanation"
exits 0 train stop nosuch
leaves_nothing nosuch

# Ctrl-C before all ranks run leaves nothing.
interrupted 240 '^waiting for train/early' train run early -f cluster.yaml --nodes 2 --gpus 0 --image lab.local/nosuch:1 --ignore train.image-pull -- true
leaves_nothing early

# Ranks that never meet: the job ends at its time limit, and that is named.
exits 1 run never --nodes 2 --time-limit 20s -- sh -c 'while :; do sleep 1; done'
complains "train/never failed"
complains "DeadlineExceeded"
exits 0 train stop never
leaves_nothing never

# A claim on a storage of gpuadm, which the job owns: it is used again, and is deleted with a job that does not start.
mkdir share
for name in one two; do "$top/tests/lib/lab-share" "$place/share" /mnt/share "$(cut -d' ' -f1 "/run/gpuadm-lab/$GPUADM_LAB/hosts/$name/leader")"; done
exits 0 gpuadm storage add data path --path /mnt/share -f cluster.yaml -y
folder=share/gpuadm-data/claims/default/saves
exits 3 run saves --nodes 2 --storage nosuch -- true
complains "nosuch is neither a PersistentVolumeClaim nor a storage nor a StorageClass"
exits 3 run saves --nodes 2 --storage data -- true
complains "add --size"
image=lab.local/nosuch:1 wait=60 exits 1 run saves --nodes 2 --storage data --size 1Gi --ignore train.image-pull -- true
[ ! -e "$folder" ] || fail "the folder of a job that did not start is left"
[ -z "$(admin get pvc,pv -o name)" ] || fail "the claim of a job that did not start is left"
# shellcheck disable=SC2016 # expanded in the pod
exits 0 run saves --nodes 2 --storage data --size 1Gi -- sh -c 'echo $RANK >>/data/rank-$RANK'
exits 0 train stop saves
# shellcheck disable=SC2016 # expanded in the pod
exits 0 run saves --nodes 2 --storage data --size 1Gi -- sh -c 'echo $RANK >>/data/rank-$RANK'
complains "using the volume of the earlier train/saves in default"
[ "$(cat "$folder/rank-0" "$folder/rank-1" | tr '\n' ' ')" = "0 0 1 1 " ] || fail "the ranks have not written: $(ls "$folder")"
# Resumed: the same job once more, with its files. Jobs that cannot be created are in a file.
admin create quota none --hard=count/jobs.batch=0 >/dev/null
exits 1 train resume saves
complains "quota"
file=$(echo .local/state/gpuadm/*/train-default.saves.json)
complains "kubectl create -f $place/$file"
[ "$(stat -c %a "$file")" = 600 ] || fail "others may read the file"
admin delete quota none >/dev/null
admin create -f - <"$file" >/dev/null
has_succeeded() { gpuadm train status saves -f cluster.yaml 2>&1 | grep -q Succeeded; }
within 240 "the Jobs of the file to succeed" has_succeeded
exits 0 train resume saves
complains "train/saves: attempt 2"
[ ! -e "$file" ] || fail "the file is left"
[ "$(tr '\n' ' ' <"$folder/rank-0")" = "0 0 0 0 " ] || fail "the attempts have not written: $(cat "$folder/rank-0")"
exits 0 train stop saves
exits 0 gpuadm storage list -f cluster.yaml -o json
jq -e '.storage[0].claims == ["default/saves"]' out >/dev/null || fail "the storage does not have the claim"

# Ctrl-C while the ranks run leaves the job, and names what ends it.
begins train run long -f cluster.yaml --nodes 2 --gpus 0 --image lab.local/rank:1 -- sh -c 'echo begun; while :; do sleep 1; done'
deadline=$((SECONDS + 240))
until [ "$(grep -c begun out)" = 2 ]; do [ "$SECONDS" -lt "$deadline" ] || fail "the ranks did not begin"; sleep 0.5; done
kill -INT "$running"
wait "$running" && fail "the exit code is 0" || [ $? = 130 ] || fail "the exit code is another"
complains "train/long keeps running"
exits 0 train status long
says "Running"
exits 0 train stop long
leaves_nothing long

# MPI: the command runs on rank 0, and reaches every rank of the host file over SSH.
cat >src/mpirun <<'END'
#!/bin/sh
while read -r address slots; do echo "$slots: $(ssh "$address" 'echo rank $GPUADM_RANK on $(hostname)' </dev/null)"; done <"$GPUADM_HOSTFILE"
END
chmod +x src/mpirun
# The home directory of the ranks is a volume with a configuration of SSH, which is neither read nor written.
mkdir -p "$folder/.ssh"
printf 'Host *\n  ProxyCommand false\n' >"$folder/.ssh/config"
exits 0 run mpi --nodes 2 --mpi --processes 4 --storage saves:/root -- sh -c "$(tail -n 1 src/mpirun)"
says "[0] slots=4: rank 0 on"
says "[0] slots=4: rank 1 on"
complains "all 2 ranks succeeded"
[ "$(cat "$folder/.ssh/config") $(ls -A "$folder/.ssh")" = "Host *
  ProxyCommand false config" ] || fail "the home directory was written to: $(ls -A "$folder/.ssh")"
lacks -F "PRIVATE KEY" out err || fail "a key is printed"
[ ! -e .local ] || lacks -F "PRIVATE KEY" .local || fail "a key is in a file"
exits 0 train stop mpi
leaves_nothing mpi

# A PyTorchJob as people have them.
cat >pytorch.yaml <<'END'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: { name: imported, namespace: default }
spec:
  pytorchReplicaSpecs:
    Master: &replica
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - { name: pytorch, image: "lab.local/rank:1", command: [sh, -c, 'echo "$RANK of $WORLD_SIZE at $MASTER_PORT"'] }
    Worker: *replica
END
exits 0 gpuadm train run -f cluster.yaml -f pytorch.yaml
says "[1] 1 of 2 at 23456"
complains "spec.pytorchReplicaSpecs: a rank that fails ends the job"
exits 0 train stop imported

# A node that dies in mid-run: it is named, and the rank on the other node ends, too.
begins train run lost -f cluster.yaml --nodes 2 --gpus 0 --image lab.local/rank:1 -- sh -c 'trap "exit 0" TERM; echo begun; while :; do sleep 1; done'
deadline=$((SECONDS + 240))
until [ "$(grep -c begun out)" = 2 ]; do [ "$SECONDS" -lt "$deadline" ] || fail "the ranks did not begin"; sleep 0.5; done
lab kill two
began=$SECONDS
wait "$running" && fail "the exit code is 0" || [ $? = 1 ] || fail "the exit code is another"
complains "train/lost failed: rank "
complains " on two: "
printf 'from the death of the node to the end of the command: %s s\n' "$((SECONDS - began))"
[ $((SECONDS - began)) -lt 180 ] || fail "it took $((SECONDS - began)) s"
for _ in $(seq 240); do
  [ -n "$(admin get pods -l gpuadm.io/name=lost --field-selector status.phase=Running,spec.nodeName=one -o name)" ] || break
  sleep 1
done
[ -z "$(admin get pods -l gpuadm.io/name=lost --field-selector status.phase=Running,spec.nodeName=one -o name)" ] || fail "the other rank still runs"
lab start two
exits 0 train stop lost
leaves_nothing lost
