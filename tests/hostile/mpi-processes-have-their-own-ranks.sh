#!/usr/bin/env bash
# Two hosts with two slots each have four processes with four ranks, as torch, DeepSpeed and accelerate read them: with Open MPI, and with
# MPICH, whose mpiexec has no option for it. Two ranks in two network namespaces, with the mpirun of this machine.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/mpi-ranks.sh
. "$top/tests/lib/mpi-ranks.sh"

# shellcheck disable=SC2016 # of the processes
report='echo "process $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, at $MASTER_ADDR:$MASTER_PORT in $(ip -o -4 address show scope global | grep -o "10[.]99[.]0[.][0-9]" | head -n 1)"'
slots=2 variables=(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PATH="$place/mpirun:$PATH")
mkdir mpirun
tested=0
# starts PROGRAM COMMAND...: that program as mpirun and mpiexec, in rank 0.
starts() {
  rm -rf mpirun mpi-[01]/* hosts/*
  mkdir mpirun
  for name in mpirun mpiexec; do
    printf '#!/bin/sh\nexec %s "$@"\n' "$(command -v "$1")" >"mpirun/$name"
    chmod 0755 "mpirun/$name"
  done
  run_rank 1 >out-1 2>err-1 &
  worker=$!
  status=0
  timeout 60 bash -c "$(declare -f run_rank); $(declare -p namespace place slots variables); run_rank 0 \"\$@\"" ranks "${@:2}" >out 2>err || status=$?
  end_ranks
  [ "$status" = 0 ] || fail "$*: exit status $status: $(cat err err-1)"
  tested=$((tested + 1))
}
has_four_ranks() {
  [ "$(grep -c '^process ' out)" = 4 ] || fail "not four processes: $(cat out err)"
  for rank in 0 1 2 3; do
    says "process $rank of 4, $((rank % 2)) of 2, at 10.99.0.1:29500 in 10.99.0.$((rank / 2 + 1))"
  done
}

if command -v mpirun.openmpi >/dev/null; then
  starts mpirun.openmpi mpirun -np 4 sh -c "$report"
  has_four_ranks
  # The host file of mpi-operator, without DNS.
  starts mpirun.openmpi mpirun -np 4 -hostfile "$place/hosts/hostfile" sh -c "$report"
  has_four_ranks
  starts mpirun.openmpi mpirun -host pi-worker-0.pi-worker:2,pi-worker-1:2 sh -c "$report"
  has_four_ranks
fi
if command -v mpiexec.hydra >/dev/null; then
  starts mpiexec.hydra mpiexec -n 4 sh -c "$report"
  has_four_ranks
  starts mpiexec.hydra mpirun -genv A B -np 2 sh -c "$report" : -np 2 --env C D sh -c "$report"
  has_four_ranks
  starts mpiexec.hydra mpirun -genv A=B -np 4 sh -c "$report"
  has_four_ranks
fi
[ "$tested" -gt 0 ] || skip 'neither Open MPI nor MPICH is installed'
