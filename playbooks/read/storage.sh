# shellcheck shell=sh disable=SC2154
# Prints for each storage of this host, columns apart by tabs: name; mounted, not mounted, no answer, read-only or not set up; bytes in all, used
# and free ("-": unknown). storages: lines of name, "mount" or "folder", folder on the host. Every access ends after 5s.

within() { if command -v timeout >/dev/null 2>&1; then timeout -k 2 5 "$@"; else "$@"; fi; }
mount_options() { at=$1 awk '$5 == ENVIRON["at"] { found = $6 } END { if (found != "") print found }' /proc/self/mountinfo; }

# state NAME KIND PLACE
state() {
  if [ "$2" = mount ] && [ -z "$(mount_options "$3")" ]; then
    echo 'not mounted'
    return
  fi
  rc=0
  within test -s "$3/gpuadm-$1/id" || rc=$?
  case $rc in
    0) ;;
    124 | 137)
      echo 'no answer'
      return
      ;;
    *)
      if [ "$2" = mount ]; then echo 'not set up'; else echo 'not mounted'; fi
      return
      ;;
  esac
  case ,$(mount_options "$3"), in *,ro,*) echo read-only ;; *) echo mounted ;; esac
}

tab=$(printf '\t')
while IFS=$tab read -r name kind place; do
  [ -n "$name" ] || continue
  is=$(state "$name" "$kind" "$place" </dev/null)
  space='-	-	-'
  case $is in
    mounted | read-only) space=$(within df -Pk "$place" </dev/null 2>/dev/null | awk 'NR == 2 { printf "%.0f\t%.0f\t%.0f", $2 * 1024, $3 * 1024, $4 * 1024 }') ;;
  esac
  printf '%s\t%s\t%s\n' "$name" "$is" "${space:--	-	-}"
done <<END
$storages
END
