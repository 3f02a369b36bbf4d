#!/usr/bin/env bash
# A rank of an MPI job keeps the configuration and the keys of SSH in its own folder: the home directory of its user, which may be on a volume
# with the user's own configuration, is neither written nor read. Two ranks in two network namespaces, with the sshd of this machine.
. "$(dirname "$0")/common"
for program in sshd ssh ssh-keygen ip unshare nsenter; do PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || skip "there is no $program"; done
unshare -n true 2>/dev/null || skip 'no network namespaces here'

mkdir keys home mpi-0 mpi-1
for key in client host; do ssh-keygen -q -t ed25519 -N '' -f "keys/$key" -C gpuadm; done
mkdir -m 0700 home/.ssh
printf 'Host *\n  Port 1\n  ProxyCommand false\n' >home/.ssh/config
before=$(cd home && find . -type f -exec sha256sum {} +)
# Objects show the script without its comments.
grep -v '^ *#' "$playbooks/workload/mpi.sh" >mpi.sh

# The ranks' mount namespace has another home directory for root, and the folder of each rank at the same place.
cat >rank <<END
set -e
mount --bind "$place/home" /root
mkdir -p "$place/mpi"
mount --bind "$place/mpi-\$RANK" "$place/mpi"
mount -t tmpfs tmpfs /run
ip link set lo up
exec sh mpi.sh "\$@"
END
namespace=gpuadm-$$
ip netns add "$namespace-0"
ip netns add "$namespace-1"
removes() {
  for number in 0 1; do
    ip netns pids "$namespace-$number" 2>/dev/null | while read -r pid; do kill "$pid" 2>/dev/null || :; done
    ip netns delete "$namespace-$number" 2>/dev/null || :
  done
  ends
}
trap removes EXIT
ip link add "g$$-0" netns "$namespace-0" type veth peer name "g$$-1" netns "$namespace-1"
for number in 0 1; do
  ip -n "$namespace-$number" address add "10.99.0.$((number + 1))/24" dev "g$$-$number"
  ip -n "$namespace-$number" link set "g$$-$number" up
done
run_rank() { # run_rank NUMBER COMMAND...
  local number=$1
  shift
  ip netns exec "$namespace-$number" unshare -m env HOME=/root RANK="$number" WORLD_SIZE=2 MASTER_ADDR=10.99.0.1 \
    GPUADM_POD_IP="10.99.0.$((number + 1))" GPUADM_SLOTS=4 GPUADM_MEET=30 GPUADM_KEYS="$place/keys" GPUADM_MPI="$place/mpi" \
    TWO_LINES="first
it's \"second\" \$HOME" sh rank "$@"
}
run_rank 1 >out-1 2>err-1 &
worker=$!
# As mpirun does: ssh from PATH, and a program of the other rank with the variables of its container.
status=0
# shellcheck disable=SC2016 # of the ranks
run_rank 0 sh -c '
  cat "$GPUADM_HOSTFILE"
  ssh 10.99.0.2 "echo rank \$RANK of \$WORLD_SIZE; printf \"%s|\n\" \"\$TWO_LINES\"; echo home \$HOME" </dev/null
  ssh 10.99.0.2 exit 7 </dev/null || echo "exit $?"
  echo "args $OMPI_MCA_plm_rsh_args"
' >out 2>err || status=$?
[ "$status" = 0 ] || fail "exit status $status: $(cat err err-1)"
says '10.99.0.1 slots=4'
says '10.99.0.2 slots=4'
says 'rank 1 of 2'
# shellcheck disable=SC2016 # as in the variable
says 'it'"'"'s "second" $HOME|'
says 'home /root'
says 'exit 7'
says "args -F $place/mpi/rank/ssh_config"
# The end of rank 0's container.
ip netns pids "$namespace-0" | xargs -r kill 2>/dev/null || : "one has ended"
wait "$worker" || fail "rank 1 failed: $(cat err-1)"
[ "$(cd home && find . -type f -exec sha256sum {} +)" = "$before" ] || fail "the home directory was written to: $(find home -type f)"
