# shellcheck shell=bash
# Words, waits and locks that every part of the lab uses.

say() { printf 'lab: %s\n' "$*" >&2; }

die() {
  say "$@"
  exit 1
}

# Runs a command until it succeeds. Says what it waited for when the deadline passes.
wait_until() { # wait_until SECONDS WHAT COMMAND...
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      say "gave up waiting for $what"
      return 1
    fi
    sleep 0.2
  done
}

# Holds a lock for the rest of this (sub)shell. The waiting has a deadline.
hold_lock() { # hold_lock FILE SECONDS WHAT
  local descriptor
  mkdir -p "$(dirname "$1")"
  exec {descriptor}>>"$1"
  flock -w "$2" "$descriptor" || die "gave up waiting for $3"
}

check_name() { # check_name NAME
  [[ $1 =~ ^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$ ]] || die "not a host name: '$1'"
}

# Removes what an older version of the lab built and nobody has used for three days.
prune() { # prune DIR PATTERN
  local old
  while read -r old; do
    grep -q "[=:]$old," /proc/mounts || rm -rf "$old" "$old.complete"
  done < <(find "$1" -maxdepth 1 -type d -name "$2" -mtime +3)
}
