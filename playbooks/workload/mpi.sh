# shellcheck shell=sh disable=SC2153
# Runs in the container of a rank of an MPI job. Ranks above 0 start sshd, report their address to rank 0 over SSH, and end when rank 0 ends.
# Rank 0 waits for all of them, writes host files, and runs its command, which is in the arguments (mpirun ...). Each process that mpirun
# starts gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT of its own. Variables: GPUADM_RANK, GPUADM_RANKS,
# GPUADM_LAUNCHER (address of rank 0), GPUADM_POD_IP, GPUADM_HOST (name of this rank in /etc/mpi/hostfile; empty: its address), GPUADM_SLOTS
# (0: none on this rank), GPUADM_MAIN_PORT, GPUADM_SSHD_PORT (of the server of this rank), GPUADM_SSH_PORT (of rank 0; on rank 0: of the
# others), GPUADM_MEET (seconds), GPUADM_KEYS (a folder with keys), GPUADM_MPI (an empty folder of this pod), GPUADM_HOSTS (/etc/mpi),
# GPUADM_HOSTS_FORM (openmpi, openmpi-v1, hydra). Everything is written to GPUADM_MPI: the home directory may be on a volume that others use.
set -u
umask 077
fail() { echo "gpuadm: $*" >&2 && exit 1; }
place=$GPUADM_MPI/rank
mkdir -p "$place/hosts" "$place/bin" || fail "cannot create $place"

# Starts a process of the job with its rank: variables of Open MPI, MVAPICH, and of MPICH and Intel MPI. The values of mpirun -x have precedence for MASTER_ADDR and MASTER_PORT.
printf '#!/bin/sh\n' >"$place/bin/process"
cat >>"$place/bin/process" <<'end'
rank=${OMPI_COMM_WORLD_RANK:-${MV2_COMM_WORLD_RANK:-${PMI_RANK:-}}}
if [ -n "$rank" ]; then
  RANK=$rank WORLD_SIZE=${OMPI_COMM_WORLD_SIZE:-${MV2_COMM_WORLD_SIZE:-${PMI_SIZE:-1}}}
  LOCAL_RANK=${OMPI_COMM_WORLD_LOCAL_RANK:-${MV2_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-0}}}
  LOCAL_WORLD_SIZE=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MV2_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-1}}}
  MASTER_ADDR=${MASTER_ADDR:-$GPUADM_MAIN_ADDR} MASTER_PORT=${MASTER_PORT:-$GPUADM_MAIN_PORT}
  export RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
fi
exec "$@"
end
chmod 0700 "$place/bin/process" || fail "cannot create $place/bin/process"
export OMPI_MCA_orte_fork_agent="$place/bin/process" PRTE_MCA_odls_base_exec_agent="$place/bin/process"
export PRTE_MCA_prte_fork_agent="$place/bin/process"

connect() {
  sshd=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd) || fail 'the image has no sshd: install openssh-server'
  ssh=$(command -v ssh) || fail 'the image has no ssh: install openssh-client'
  for key in client host; do cp "$GPUADM_KEYS/$key" "$GPUADM_KEYS/$key.pub" "$place/" || fail "cannot read the keys of the job"; done
  cp "$place/client.pub" "$place/authorized"
  printf 'gpuadm %s\n' "$(cat "$place/host.pub")" >"$place/known"

  # mpirun starts ssh itself. It finds this one first, which has the configuration of the job.
  cat >"$place/ssh_config" <<end || fail "cannot write to $place"
Host *
  Port $GPUADM_SSH_PORT
  IdentityFile $place/client
  IdentitiesOnly yes
  UserKnownHostsFile $place/known
  HostKeyAlias gpuadm
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 5
  ServerAliveInterval 10
  ServerAliveCountMax 6
  SendEnv GPUADM_MAIN_ADDR
  LogLevel ERROR
end
  printf '#!/bin/sh\nexec "%s" -F "%s" "$@"\n' "$ssh" "$place/ssh_config" >"$place/bin/ssh"
  chmod 0700 "$place/bin/ssh" || fail "cannot create $place/bin/ssh"
  PATH=$place/bin:$PATH
  export PATH OMPI_MCA_plm_rsh_args="-F $place/ssh_config" PRTE_MCA_plm_ssh_args="-F $place/ssh_config"
  export HYDRA_LAUNCHER_EXEC="$place/bin/ssh" I_MPI_HYDRA_BOOTSTRAP_EXEC="$place/bin/ssh"
  # Only rank 0 knows the names of the others.
  export OMPI_MCA_plm_rsh_no_tree_spawn="1" PRTE_MCA_plm_ssh_no_tree_spawn="1"

  # Programs that mpirun starts on other ranks get the variables of their container, except those of a login.
  export -p | grep -Ev '^export (HOME|PWD|OLDPWD|SHLVL|USER|LOGNAME|SHELL|_)(=|$)' >"$place/environment"
  cat >"$place/session" <<end
. $place/environment
exec /bin/sh -c "\$SSH_ORIGINAL_COMMAND"
end
  cat >"$place/sshd_config" <<end
Port $GPUADM_SSHD_PORT
HostKey $place/host
AuthorizedKeysFile $place/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
AcceptEnv GPUADM_MAIN_ADDR
ForceCommand /bin/sh $place/session
PidFile none
LogLevel ERROR
end
  if [ "$(id -u)" = 0 ]; then mkdir -p /run/sshd; fi
  "$sshd" -f "$place/sshd_config" -E "$place/log" || fail "sshd does not start: $(tail -n 1 "$place/log" 2>/dev/null)"
}
[ "$GPUADM_RANKS" = 1 ] || connect

if [ "$GPUADM_RANK" != 0 ]; then
  # The connection lasts as long as rank 0.
  # shellcheck disable=SC2016 # expanded on rank 0
  report='echo "$2 $3 $5" >"$4/hosts/$1.new" && mv "$4/hosts/$1.new" "$4/hosts/$1" && echo reported && while [ -e "$4/hosts/$1" ]; do sleep 1; done'
  deadline=$(($(date +%s) + GPUADM_MEET))
  begun=no
  while [ "$begun" = no ]; do
    answer=$(ssh "$GPUADM_LAUNCHER" sh -c "'$report'" gpuadm "$GPUADM_RANK" "$GPUADM_POD_IP" "$GPUADM_SLOTS" "$place" "${GPUADM_HOST:-$GPUADM_POD_IP}" 2>&1)
    case $answer in reported*) begun=yes ;; esac
    [ "$begun" = yes ] || [ "$(date +%s)" -lt "$deadline" ] || fail "rank 0 did not answer at $GPUADM_LAUNCHER port $GPUADM_SSH_PORT within ${GPUADM_MEET}s: $answer"
    [ "$begun" = yes ] || sleep 1
  done
  exit 0
fi

deadline=$(($(date +%s) + GPUADM_MEET))
while :; do
  missing=
  rank=1
  while [ "$rank" -lt "$GPUADM_RANKS" ]; do
    [ -e "$place/hosts/$rank" ] || missing="$missing $rank"
    rank=$((rank + 1))
  done
  [ -n "$missing" ] || break
  [ "$(date +%s)" -lt "$deadline" ] || fail "these ranks did not report within ${GPUADM_MEET}s:$missing"
  sleep 1
done
if [ "$GPUADM_SLOTS" != 0 ]; then printf '%s %s %s\n' "$GPUADM_POD_IP" "$GPUADM_SLOTS" "${GPUADM_HOST:-$GPUADM_POD_IP}" >"$place/hosts/0"; fi
rank=0
while [ "$rank" -lt "$GPUADM_RANKS" ]; do
  [ ! -e "$place/hosts/$rank" ] || cat "$place/hosts/$rank"
  rank=$((rank + 1))
done >"$place/list"
awk '{ print $1 " slots=" $2 }' "$place/list" >"$place/hostfile"  # Open MPI
awk '{ print $1 ":" $2 }' "$place/list" >"$place/hydra"           # MPICH, Intel MPI
read -r GPUADM_MAIN_ADDR _ <"$place/list"
export GPUADM_MAIN_ADDR OMPI_MCA_orte_default_hostfile="$place/hostfile" PRTE_MCA_prte_default_hostfile="$place/hostfile"
export HYDRA_HOST_FILE="$place/hydra" I_MPI_HYDRA_HOST_FILE="$place/hydra" GPUADM_HOSTFILE="$place/hostfile"

# As the operators make them. ssh knows the names in all of their forms, also in a cluster without DNS.
host_file() {
  case $GPUADM_HOSTS_FORM in
    hydra) awk '{ print $3 ":" $2 }' ;;
    openmpi-v1) awk '{ sub(/[.].*/, "", $3); print $3 " slots=" $2 }' ;;
    *) awk '{ print $3 " slots=" $2 }' ;;
  esac <"$place/list"
}
discover_hosts() {
  echo '#!/bin/sh'
  case $GPUADM_HOSTS_FORM in
    openmpi-v1) awk '{ sub(/[.].*/, "", $3); print "echo " $3 ":" $2 }' ;;
    *) awk '{ print "echo " $3 }' ;;
  esac <"$place/list"
}
if [ -d "$GPUADM_HOSTS" ]; then
  rm -f "$GPUADM_HOSTS/hostfile" "$GPUADM_HOSTS/discover_hosts.sh"
  host_file >"$GPUADM_HOSTS/hostfile"
  discover_hosts >"$GPUADM_HOSTS/discover_hosts.sh"
  chmod 0444 "$GPUADM_HOSTS/hostfile" || fail "cannot write to $GPUADM_HOSTS"
  chmod 0555 "$GPUADM_HOSTS/discover_hosts.sh" || fail "cannot write to $GPUADM_HOSTS"
fi
[ ! -e "$place/ssh_config" ] ||
  awk '$3 != $1 { name = $3; sub(/[.].*/, "", name); print "Host " name " " name ".*\n  HostName " $1 }' "$place/list" >>"$place/ssh_config"

# mpiexec of MPICH and Intel MPI has no option for a program that starts each process: it stands before the program, unless there is an
# option that is not known. Workers connect to the address of rank 0, because they may not know its name.
cat >"$place/hydra.sh" <<'end'
program=$1 process=$2 localhost=$3
shift 3
[ -z "${GPUADM_HYDRA:-}" ] || exec "$program" "$@"
export GPUADM_HYDRA=1
left=$# values=0 reads=options
while [ "$left" -gt 0 ]; do
  word=$1 left=$((left - 1))
  shift
  if [ "$values" -gt 0 ]; then
    values=$((values - 1))
  elif [ "$reads" = program ]; then
    [ "$word" != : ] || reads=options
  elif [ "$reads" = options ]; then
    case $word in --*) option=${word#-} ;; *) option=$word ;; esac
    case $option in
      -genv | -env) values=2 && case ${1:-} in *=*) [ "$left" = 0 ] || values=1 ;; esac ;;
      -genvall | -genvnone | -envall | -envnone | -enable-x | -disable-x | -verbose | -v | -info | -print-all-exitcodes | -profile | -prepend-rank | -l) ;;
      -disable-auto-cleanup | -disable-hostname-propagation | -pmi-port | -skip-launch-node | -print-rank-map | -rr) ;;
      -n | -np | -f | -machinefile | -machine | -hosts | -host | -hostfile | -wdir | -path | -genvlist | -envlist | -launcher | -launcher-exec) values=1 ;;
      -bootstrap | -bootstrap-exec | -rmk | -topolib | -bind-to | -map-by | -membind | -demux | -iface | -ppn | -perhost | -prepend-pattern) values=1 ;;
      -outfile-pattern | -errfile-pattern | -nameserver | -order-nodes | -localhost | -usize | -gpus-per-proc | -s | -grr | -rankmap | -hybrid-hosts) values=1 ;;
      -*=*) ;;
      -*)
        reads=nothing
        echo "gpuadm: the option $word of mpiexec is not known: processes have no RANK" >&2
        ;;
      *) reads=program && set -- "$@" "$process" ;;
    esac
  fi
  set -- "$@" "$word"
done
if [ -n "$localhost" ]; then set -- -localhost "$localhost" "$@"; fi
exec "$program" "$@"
end
for name in mpirun mpiexec mpiexec.hydra; do
  program=$(command -v "$name") || continue
  case $("$program" --version 2>/dev/null) in
    *HYDRA*) address=$GPUADM_POD_IP ;;
    *'Intel(R) MPI'*) address= ;;
    *) continue ;;
  esac
  printf '#!/bin/sh\nexec /bin/sh "%s" "%s" "%s" "%s" "$@"\n' "$place/hydra.sh" "$program" "$place/bin/process" "$address" >"$place/bin/$name"
  chmod 0700 "$place/bin/$name" || fail "cannot create $place/bin/$name"
done
PATH=$place/bin:$PATH
export PATH
[ "$#" -gt 0 ] || fail 'no command'
exec "$@"
