#!/usr/bin/env bash
# A rank of an MPI job keeps the configuration and the keys of SSH in its own folder: the home directory of its user, which may be on a volume
# with the user's own configuration, is neither written nor read. Two ranks in two network namespaces, with the sshd of this machine.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/mpi-ranks.sh
. "$top/tests/lib/mpi-ranks.sh"

mkdir -m 0700 home/.ssh
printf 'Host *\n  Port 1\n  ProxyCommand false\n' >home/.ssh/config
before=$(cd home && find . -type f -exec sha256sum {} +)
# shellcheck disable=SC2034 # of run_rank
variables=(TWO_LINES="first
it's \"second\" \$HOME")
run_rank 1 >out-1 2>err-1 &
worker=$!
# As mpirun does: ssh from PATH, and a program of the other rank with the variables of its container.
status=0
# shellcheck disable=SC2016 # of the ranks
run_rank 0 sh -c '
  cat "$GPUADM_HOSTFILE" "$GPUADM_HOSTS/hostfile"
  for name in pi-worker-1 pi-worker-1.pi-worker pi-worker-1.pi.default.svc; do ssh "$name" "echo by name \$GPUADM_RANK" </dev/null || exit 1; done
  echo "discovered $("$GPUADM_HOSTS/discover_hosts.sh" | tr "\n" " ")"
  ssh 10.99.0.2 "echo rank \$GPUADM_RANK of \$GPUADM_RANKS at \$GPUADM_MAIN_ADDR; printf \"%s|\n\" \"\$TWO_LINES\"; echo home \$HOME" </dev/null
  ssh 10.99.0.2 exit 7 </dev/null || echo "exit $?"
  echo "args $OMPI_MCA_plm_rsh_args"
' >out 2>err || status=$?
[ "$status" = 0 ] || fail "exit status $status: $(cat err err-1)"
says '10.99.0.1 slots=4'
says '10.99.0.2 slots=4'
says 'rank 1 of 2 at 10.99.0.1'
# The names of /etc/mpi/hostfile, without DNS.
says 'pi-worker-1.pi.default.svc slots=4'
says 'by name 1'
says 'discovered pi-worker-0.pi.default.svc pi-worker-1.pi.default.svc '
# shellcheck disable=SC2016 # as in the variable
says 'it'"'"'s "second" $HOME|'
says 'home /root'
says 'exit 7'
says "args -F $place/mpi/rank/ssh_config"
end_ranks
[ "$(cd home && find . -type f -exec sha256sum {} +)" = "$before" ] || fail "the home directory was written to: $(find home -type f)"
