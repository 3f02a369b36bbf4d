# shellcheck shell=sh disable=SC2154
# Acquires the lock of the host, loaded after prelude.sh. $gpuadm_steal is the line of the owner that the client knows to be dead, $gpuadm_host
# the name of the host in this run. Exit status: 0: acquired. 10: held; stdout has the owner's line. 11: a program of a dead run is still
# running after the deadline. 12: this run holds it for another name; stdout has that name.

# owner_is_dead LINE
owner_is_dead() {
  [ "$1" != "$gpuadm_steal" ] || return 0
  # The host is being rebooted.
  gpuadm_last=0
  [ ! -f "$gpuadm_lock/reboot" ] || read -r gpuadm_last <"$gpuadm_lock/reboot" || :
  [ "$(date +%s)" -ge "${gpuadm_last:-0}" ] || return 1
  gpuadm_last=0
  [ ! -f "$gpuadm_lock/beat" ] || read -r gpuadm_last <"$gpuadm_lock/beat" || :
  gpuadm_age=$(($(uptime_seconds) - ${gpuadm_last:-0}))
  [ "$gpuadm_age" -gt 90 ] || [ "$gpuadm_age" -lt 0 ]
}

# resume_cancel: the run that was to continue at the next boot does not, because this one may change what it was planned for. Like
# resume.sh, it removes what resume_put has made, and has no line in the journal: undo must not start that run again.
resume_cancel() {
  gpuadm_unit=/etc/systemd/system/gpuadm-resume.service
  [ -e "$gpuadm_unit" ] || [ -e "$gpuadm_home/resume" ] || return 0
  systemctl disable --quiet gpuadm-resume.service >&2 || : "its file is removed"
  rm -f "$gpuadm_unit" "$gpuadm_home/resume" || die "cannot remove $gpuadm_unit: run rm $gpuadm_unit, then run again"
  systemctl daemon-reload >&2 || :
  say "the run that was to continue at the next boot does not continue: run its command again"
}

journal_open
gpuadm_end=$(($(uptime_seconds) + gpuadm_timeout))
gpuadm_tries=0
while ! gpuadm_why=$(mkdir "$gpuadm_lock" 2>&1); do
  # The disk is full or read-only. Another run may also have ended in the meantime, so mkdir is tried again.
  if [ ! -d "$gpuadm_lock" ]; then
    gpuadm_tries=$((gpuadm_tries + 1))
    [ "$gpuadm_tries" -ge 3 ] || continue
    say_full_disks
    die "$gpuadm_why"
  fi
  if lock_is_held; then
    gpuadm_other=
    [ ! -f "$gpuadm_lock/host" ] || read -r gpuadm_other <"$gpuadm_lock/host" || :
    [ "$gpuadm_other" != "$gpuadm_host" ] || exit 0
    printf '%s\n' "$gpuadm_other"
    exit 12
  fi
  if lock_program_runs; then
    if [ "$gpuadm_holder" != "$gpuadm_steal" ]; then
      cat "$gpuadm_lock/owner"
      exit 10
    fi
    if [ "$(uptime_seconds)" -ge "$gpuadm_end" ]; then
      cat "$gpuadm_lock/owner"
      exit 11
    fi
    sleep 0.5
    continue
  fi
  # A lock without an owner is left by a run that was killed before it wrote the owner.
  if [ -z "$gpuadm_holder" ]; then
    sleep 1
    [ ! -s "$gpuadm_lock/owner" ] || continue
  elif ! owner_is_dead "$gpuadm_holder"; then
    cat "$gpuadm_lock/owner"
    exit 10
  fi
  # Only one of several runs can rename the lock; the renamed lock must still belong to the dead run.
  if mv "$gpuadm_lock" "$gpuadm_lock.dead.$$" 2>/dev/null; then
    gpuadm_moved=
    [ ! -f "$gpuadm_lock.dead.$$/owner" ] || IFS= read -r gpuadm_moved <"$gpuadm_lock.dead.$$/owner" || :
    if [ "$gpuadm_moved" != "$gpuadm_holder" ]; then
      mv "$gpuadm_lock.dead.$$" "$gpuadm_lock"
      continue
    fi
    rm -rf "$gpuadm_lock.dead.$$"
    gpuadm_holder=${gpuadm_holder%% *}
    say "took over the stale lock of ${gpuadm_holder:-an interrupted run}"
  fi
done
if ! lock_beat || ! printf '%s\n' "$gpuadm_host" >"$gpuadm_lock/host" || ! lock_line >"$gpuadm_lock/owner"; then
  rm -rf "$gpuadm_lock"
  say_full_disks
  die "cannot write to $gpuadm_lock"
fi
resume_cancel
