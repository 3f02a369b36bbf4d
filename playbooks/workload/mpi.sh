# shellcheck shell=sh disable=SC2153
# Runs in the container of a rank of an MPI job. Ranks above 0 start sshd, report their address to rank 0 over SSH, and end when rank 0 ends.
# Rank 0 waits for all of them, writes a host file, and runs its command, which is in the arguments (mpirun ...). Variables: RANK,
# WORLD_SIZE, MASTER_ADDR, GPUADM_POD_IP, GPUADM_SLOTS (0: none on this rank), GPUADM_MEET (seconds), GPUADM_KEYS (a folder with keys),
# GPUADM_MPI (an empty folder of this pod). Everything is written there: the home directory may be on a volume that others use.
set -u
umask 077
fail() { echo "gpuadm: $*" >&2 && exit 1; }
port=2222
place=$GPUADM_MPI/rank
sshd=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd) || fail 'the image has no sshd: install openssh-server'
ssh=$(command -v ssh) || fail 'the image has no ssh: install openssh-client'
mkdir -p "$place/hosts" "$place/bin" || fail "cannot create $place"
for key in client host; do cp "$GPUADM_KEYS/$key" "$GPUADM_KEYS/$key.pub" "$place/" || fail "cannot read the keys of the job"; done
cp "$place/client.pub" "$place/authorized"
printf 'gpuadm %s\n' "$(cat "$place/host.pub")" >"$place/known"

# mpirun starts ssh itself. It finds this one first, which has the configuration of the job.
cat >"$place/ssh_config" <<end || fail "cannot write to $place"
Host *
  Port $port
  IdentityFile $place/client
  IdentitiesOnly yes
  UserKnownHostsFile $place/known
  HostKeyAlias gpuadm
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 5
  ServerAliveInterval 10
  ServerAliveCountMax 6
  LogLevel ERROR
end
printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$ssh" "$place/ssh_config" >"$place/bin/ssh"
chmod 0700 "$place/bin/ssh" || fail "cannot create $place/bin/ssh"
PATH=$place/bin:$PATH
export PATH OMPI_MCA_plm_rsh_args="-F $place/ssh_config" PRTE_MCA_plm_ssh_args="-F $place/ssh_config"
export HYDRA_LAUNCHER_EXEC="$place/bin/ssh" I_MPI_HYDRA_BOOTSTRAP_EXEC="$place/bin/ssh"

# Programs that mpirun starts on other ranks get the variables of their container, except those of a login.
export -p | grep -Ev '^export (HOME|PWD|OLDPWD|SHLVL|USER|LOGNAME|SHELL|_)(=|$)' >"$place/environment"
cat >"$place/session" <<end
. $place/environment
exec /bin/sh -c "\$SSH_ORIGINAL_COMMAND"
end
cat >"$place/sshd_config" <<end
Port $port
HostKey $place/host
AuthorizedKeysFile $place/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
ForceCommand /bin/sh $place/session
PidFile none
LogLevel ERROR
end
if [ "$(id -u)" = 0 ]; then mkdir -p /run/sshd; fi
"$sshd" -f "$place/sshd_config" -E "$place/log" || fail "sshd does not start: $(tail -n 1 "$place/log" 2>/dev/null)"

if [ "$RANK" != 0 ]; then
  # The connection lasts as long as rank 0.
  # shellcheck disable=SC2016 # expanded on rank 0
  report='echo "$2 $3" >"$4/hosts/$1.new" && mv "$4/hosts/$1.new" "$4/hosts/$1" && echo reported && while [ -e "$4/hosts/$1" ]; do sleep 1; done'
  deadline=$(($(date +%s) + GPUADM_MEET))
  begun=no
  while [ "$begun" = no ]; do
    answer=$(ssh "$MASTER_ADDR" sh -c "'$report'" gpuadm "$RANK" "$GPUADM_POD_IP" "$GPUADM_SLOTS" "$place" 2>&1)
    case $answer in reported*) begun=yes ;; esac
    [ "$begun" = yes ] || [ "$(date +%s)" -lt "$deadline" ] || fail "rank 0 did not answer at $MASTER_ADDR port $port within ${GPUADM_MEET}s: $answer"
    [ "$begun" = yes ] || sleep 1
  done
  exit 0
fi

deadline=$(($(date +%s) + GPUADM_MEET))
while :; do
  missing=
  rank=1
  while [ "$rank" -lt "$WORLD_SIZE" ]; do
    [ -e "$place/hosts/$rank" ] || missing="$missing $rank"
    rank=$((rank + 1))
  done
  [ -n "$missing" ] || break
  [ "$(date +%s)" -lt "$deadline" ] || fail "these ranks did not report within ${GPUADM_MEET}s:$missing"
  sleep 1
done
if [ "$GPUADM_SLOTS" != 0 ]; then printf '%s %s\n' "$GPUADM_POD_IP" "$GPUADM_SLOTS" >"$place/hosts/0"; fi
rank=0
while [ "$rank" -lt "$WORLD_SIZE" ]; do
  [ ! -e "$place/hosts/$rank" ] || cat "$place/hosts/$rank"
  rank=$((rank + 1))
done >"$place/list"
awk '{ print $1 " slots=" $2 }' "$place/list" >"$place/hostfile"  # Open MPI
awk '{ print $1 ":" $2 }' "$place/list" >"$place/hydra"           # MPICH, Intel MPI
export OMPI_MCA_orte_default_hostfile="$place/hostfile" PRTE_MCA_prte_default_hostfile="$place/hostfile"
export HYDRA_HOST_FILE="$place/hydra" I_MPI_HYDRA_HOST_FILE="$place/hydra" GPUADM_HOSTFILE="$place/hostfile"
[ "$#" -gt 0 ] || fail 'no command'
exec "$@"
