# shellcheck shell=bash disable=SC2154 # place, playbooks: of the test
# Two ranks of an MPI job on this machine, each in a network namespace and a mount namespace of its own, with the sshd of this machine:
# `run_rank 0 COMMAND...`, and before it `run_rank 1` in the background. Their home directory is $place/home.
for program in sshd ssh ssh-keygen ip unshare nsenter; do PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || skip "there is no $program"; done
unshare -n true 2>/dev/null || skip 'no network namespaces here'

mkdir keys home mpi-0 mpi-1 hosts
for key in client host; do ssh-keygen -q -t ed25519 -N '' -f "keys/$key" -C gpuadm; done
# Objects show the script without its comments.
grep -v '^ *#' "$playbooks/workload/mpi.sh" >mpi.sh

# The ranks' mount namespace has another home directory for root, and the folder of each rank at the same place.
cat >rank <<END
set -e
mount --bind "$place/home" /root
mkdir -p "$place/mpi"
mount --bind "$place/mpi-\$GPUADM_RANK" "$place/mpi"
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
  ip netns exec "$namespace-$number" unshare -mu env HOME=/root GPUADM_RANK="$number" GPUADM_RANKS=2 GPUADM_LAUNCHER=10.99.0.1 GPUADM_MAIN_PORT=29500 GPUADM_SSHD_PORT="$((2222 + number))" GPUADM_SSH_PORT="$((2223 - number))" \
    GPUADM_POD_IP="10.99.0.$((number + 1))" GPUADM_HOST="pi-worker-$number.pi.default.svc" GPUADM_HOSTS="$place/hosts" GPUADM_HOSTS_FORM=openmpi \
    GPUADM_SLOTS="${slots:-4}" GPUADM_MEET=30 GPUADM_KEYS="$place/keys" GPUADM_MPI="$place/mpi" "${variables[@]}" sh rank "$@"
}
# The end of rank 0's container.
end_ranks() {
  ip netns pids "$namespace-0" | xargs -r kill 2>/dev/null || : "one has ended"
  wait "$worker" || fail "rank 1 failed: $(cat err-1)"
}
