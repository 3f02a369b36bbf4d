# shellcheck shell=sh disable=SC2034,SC2154
# Prints for each storage of this host, columns apart by tabs: name; mounted, not mounted, no answer, read-only, not set up or unsafe; bytes in
# all, used and free ("-": unknown); the reason, of unsafe. storages: lines of name, kind, folder on the host. Every access ends after 5s.

# shellcheck source=playbooks/prelude.sh
[ "${prelude_is_here:-}" = yes ] || . "$(dirname "$0")/../prelude.sh"
# shellcheck source=playbooks/storage.sh
[ "${storage_is_here:-}" = yes ] || . "$(dirname "$0")/../storage.sh"
storage_seconds=5
mount_options() { at=$1 awk '$5 == ENVIRON["at"] { found = $6 } END { if (found != "") print found }' /proc/self/mountinfo; }

# state: prints it; what else is printed is the reason.
state() {
  if storage_is_mounted_kind && [ -z "$(mount_options "$storage_place")" ]; then
    echo 'not mounted'
    return
  fi
  rc=0
  storage_do test -s "$storage_place/gpuadm-$storage_name/id" || rc=$?
  case $rc in
    0) ;;
    124 | 137)
      echo 'no answer'
      return
      ;;
    *)
      if storage_is_mounted_kind; then echo 'not set up'; else echo 'not mounted'; fi
      return
      ;;
  esac
  # The folder is held, and inspected: a user may have put another one in its place.
  if ! (storage_hold_marker && { ! storage_enter claims || :; }); then
    echo unsafe
    return
  fi
  case ,$(mount_options "$storage_place"), in *,ro,*) echo read-only ;; *) echo mounted ;; esac
}

while IFS=$gpuadm_tab read -r storage_name storage_kind storage_place; do
  [ -n "$storage_name" ] || continue
  why=$(state </dev/null 2>&1)
  is=$(printf '%s\n' "$why" | tail -n 1)
  space='-	-	-'
  case $is in
    mounted | read-only) space=$(storage_do df -Pk "$storage_place" </dev/null 2>/dev/null | awk 'NR == 2 { printf "%.0f\t%.0f\t%.0f", $2 * 1024, $3 * 1024, $4 * 1024 }') ;;
  esac
  [ "$is" = unsafe ] || why=
  printf '%s\t%s\t%s\t%s\n' "$storage_name" "$is" "${space:--	-	-}" "$(printf '%s' "$why" | sed '$d' | tr '\t\n' '  ')"
done <<END
$storages
END
