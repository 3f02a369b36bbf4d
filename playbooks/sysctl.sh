# shellcheck shell=sh disable=SC2154,SC2034
# Functions for steps that set kernel parameters, loaded after prelude.sh. KEY has the form of /etc/sysctl.d; each step has one
# file.

# file_keeps PATH: whether its content equals stdin.
file_keeps() {
  content=$(cat && printf x)
  content=${content%x}
  if [ -f "$1" ] && [ "$(printf %s "$content" | sha256sum)" = "$(sha256sum <"$1")" ]; then return 0; fi
  printf %s "$content" | would_become "$1"
  return 1
}

sysctl_path() {
  sysctl_rest=$1 sysctl_at=
  while :; do
    case $sysctl_rest in *.*) ;; *) break ;; esac
    sysctl_at=$sysctl_at${sysctl_rest%%.*}/ sysctl_rest=${sysctl_rest#*.}
  done
  printf %s "$sysctl_at$sysctl_rest"
}
# sysctl_now KEY: its value, with words separated by one blank.
sysctl_now() {
  [ -r "/proc/sys/$(sysctl_path "$1")" ] || die "this kernel has no parameter $1"
  tr -s '\t ' ' ' <"/proc/sys/$(sysctl_path "$1")"
}

# at_least KEY NUMBER: the current value, or NUMBER if that is larger.
at_least() {
  gpuadm_now=$(sysctl_now "$1")
  if [ "$gpuadm_now" -ge "$2" ]; then printf '%s\n' "$gpuadm_now"; else printf '%s\n' "$2"; fi
}

# room_for KEY USED PERCENT LEAST ADVISED: the current value if it is at least LEAST and at most PERCENT of it is used; otherwise
# ADVISED, or twice the current value.
room_for() {
  gpuadm_now=$(sysctl_now "$1")
  gpuadm_percent=$((gpuadm_now / 100)) # divided first, because some values are as large as an integer can be
  if [ "$2" -lt $((gpuadm_percent * $3)) ] && [ "$gpuadm_now" -ge "$4" ]; then
    printf '%s\n' "$gpuadm_now"
  elif [ "$2" -lt $((gpuadm_percent * $3)) ] || [ $((gpuadm_now * 2)) -lt "$5" ]; then
    printf '%s\n' "$5"
  else
    printf '%s\n' $((gpuadm_now * 2))
  fi
}

# sysctl_file NAME KEY VALUE...: sets $path and $content of the file that applies them at boot.
sysctl_file() {
  path=/etc/sysctl.d/99-gpuadm-$1.conf
  content='# Written by gpuadm.
'
  shift
  while [ $# -gt 0 ]; do
    content="$content$1 = $2
"
    shift 2
  done
}

# sysctl_kept NAME KEY VALUE...: whether they are set, now and at boot.
sysctl_kept() {
  sysctl_file "$@"
  gpuadm_kept=0
  printf %s "$content" | file_keeps "$path" || gpuadm_kept=1
  shift
  while [ $# -gt 0 ]; do
    [ "$(sysctl_now "$1")" = "$2" ] || gpuadm_kept=1
    shift 2
  done
  return "$gpuadm_kept"
}

# sysctl_keep NAME KEY VALUE...
sysctl_keep() {
  sysctl_file "$@"
  file_is "$path" 0644 >/dev/null || file_put "$path" 0644
  shift
  while [ $# -gt 0 ]; do
    if [ "$(sysctl_now "$1")" != "$2" ]; then
      journal_sysctl "$(sysctl_path "$1")"
      printf '%s\n' "$2" >"/proc/sys/$(sysctl_path "$1")" || die "the kernel rejects $1 = $2"
    fi
    shift 2
  done
}

# limits_suffice KEY LEAST...: whether no value is lower. A parameter that the kernel does not have, or that cannot be written (a
# container with a read-only /proc/sys), is ignored.
limits_suffice() {
  while [ $# -gt 0 ]; do
    gpuadm_path=/proc/sys/$(sysctl_path "$1")
    if [ -w "$gpuadm_path" ] && [ "$(cat "$gpuadm_path")" -lt "$2" ]; then return 1; fi
    shift 2
  done
}

# limits_raise NAME KEY LEAST...: raises lower values, now and at boot; no value is lowered.
limits_raise() {
  gpuadm_limits=$1
  shift
  gpuadm_pairs=
  while [ $# -gt 0 ]; do
    [ ! -w "/proc/sys/$(sysctl_path "$1")" ] || gpuadm_pairs="$gpuadm_pairs $1 $(at_least "$1" "$2")"
    shift 2
  done
  # shellcheck disable=SC2086 # keys and numbers
  sysctl_keep "$gpuadm_limits" $gpuadm_pairs
}
