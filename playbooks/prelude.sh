# shellcheck shell=sh disable=SC2154
# Functions that precede every program that gpuadm runs on a host. POSIX sh; only coreutils and awk are required. The runner sets
# gpuadm_run, gpuadm_step, gpuadm_client, gpuadm_owner, gpuadm_timeout and the step's variables.

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
umask 022
# shellcheck disable=SC2034 # other files read it
prelude_is_here=yes
gpuadm_home=/var/lib/gpuadm
gpuadm_journal=$gpuadm_home/journal
gpuadm_lock=$gpuadm_home/lock
gpuadm_tab='	'
# shellcheck disable=SC2034 # other files read it
gpuadm_newline='
'

# say TEXT: one line for the operator.
say() { printf '%s\n' "$*" >&2; }
# die TEXT: ends the step with the reason for the operator.
die() {
  say "$*"
  exit 3
}
have() { command -v "$1" >/dev/null 2>&1; }
# uptime_seconds: a clock that cannot be set.
uptime_seconds() {
  read -r gpuadm_up _ </proc/uptime
  printf '%s\n' "${gpuadm_up%%.*}"
}
# in_time SECONDS COMMAND...: polls until the command succeeds; fails on timeout. The poll repeats: its requests are sent once.
in_time() {
  gpuadm_until=$(($(uptime_seconds) + $1)) gpuadm_again=${request_again:-0} gpuadm_polled=0 request_again=0
  shift
  until "$@"; do
    if [ "$(uptime_seconds)" -ge "$gpuadm_until" ]; then
      gpuadm_polled=1
      break
    fi
    sleep 0.3
  done
  request_again=$gpuadm_again
  return "$gpuadm_polled"
}
sha256_of() {
  gpuadm_digest=$(sha256sum <"$1") || gpuadm_digest=
  printf '%s\n' "${gpuadm_digest%% *}"
}
# flat TEXT: sets gpuadm_flat to it with _ for / and :, as a file name.
flat() {
  gpuadm_flat=$1
  while :; do
    case $gpuadm_flat in
      *[/:]*) gpuadm_flat=${gpuadm_flat%%[/:]*}_${gpuadm_flat#*[/:]} ;;
      *) return 0 ;;
    esac
  done
}
# first_line FILE: prints it; fails if there is none.
first_line() {
  gpuadm_line=
  { IFS= read -r gpuadm_line <"$1" || [ -n "$gpuadm_line" ]; } 2>/dev/null || return 1
  printf '%s\n' "$gpuadm_line"
}

# --- What a preview reads once ---------------------------------------------------------------------------
# A preview runs the checks of all steps one after another and changes nothing. So what several of them would ask the same program is read
# once before the first, by the functions in $preview_reads, which the files with the checks extend. If what was read satisfies a check, the
# check asks no program; otherwise it does. Only labels, routes and the identities of nodes are taken as they were read.

preview_reads=
preview_begin() { for preview_read in $preview_reads; do "$preview_read"; done; }
# cluster_says LINE: a line of read_cluster in verify.sh.
cluster_says() {
  case $gpuadm_newline${gpuadm_cluster:-}$gpuadm_newline in *"$gpuadm_newline$1$gpuadm_newline"*) ;; *) return 1 ;; esac
}
# cluster_lines WORD: what follows the word on the lines that begin with it; fails if nothing was read.
cluster_lines() {
  cluster_says api || return 1
  printf '%s\n' "$gpuadm_cluster" | sed -n "s/^$1[ $gpuadm_tab]//p"
}

# --- The journal: the state of the host before gpuadm changed it -------------------------------------
# journal/log has one line per thing and run, separated by tabs: kind, name, previous state, step, run. The first line of a thing in
# a run counts. A line "+KIND" has the state after the run; "reader" has the unit that reads a file. journal/blobs/SHA256 has the
# previous content of files. See docs/reference/journal.md.

journal_open() {
  [ -z "${gpuadm_journal_is_open:-}" ] || return 0
  if [ ! -d "$gpuadm_journal/blobs" ]; then
    mkdir -p "$gpuadm_journal/blobs"
    chmod 0700 "$gpuadm_home" "$gpuadm_journal" "$gpuadm_journal/blobs"
  fi
  journal_end_line
  gpuadm_journal_is_open=yes
}

# journal_is_cut_off: the last line has no newline, because the disk was full or the power failed during the write.
journal_is_cut_off() { [ -s "$gpuadm_journal/log" ] && [ -n "$(tail -c 1 "$gpuadm_journal/log")" ]; }

# journal_end_line: terminates an incomplete line, so that the next write starts a new line. The incomplete line gets more fields
# than a valid line has, so that undo reports it instead of using it.
journal_end_line() {
  journal_is_cut_off || return 0
  printf '\t\t\t\t\tcut off\n' >>"$gpuadm_journal/log" && return
  say_full_disks
  die "$gpuadm_journal/log ends in an incomplete line, and appending to it failed"
}

# journal_full: removes the part of a line that could be written. The thing itself has not been changed yet.
journal_full() {
  if journal_is_cut_off; then
    gpuadm_length=$(($(stat -c %s "$gpuadm_journal/log") - $(tail -n 1 "$gpuadm_journal/log" | wc -c)))
    dd if=/dev/null of="$gpuadm_journal/log" bs=1 seek="$gpuadm_length" 2>/dev/null
  fi
  say_full_disks
  die "cannot write $gpuadm_journal/log: gpuadm changes nothing that it cannot record there"
}

# journal_has KIND NAME [RUN]: whether any run, or that run, has changed it.
journal_has() {
  [ -f "$gpuadm_journal/log" ] && kind=$1 name=$2 run=${3:-} awk -F '\t' '
    NF == 5 && $1 == ENVIRON["kind"] && $2 == ENVIRON["name"] && (ENVIRON["run"] == "" || $5 == ENVIRON["run"]) { found = 1; exit }
    END { exit !found }' "$gpuadm_journal/log"
}

# journal_line KIND NAME STATE
journal_line() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$gpuadm_step" "$gpuadm_run" >>"$gpuadm_journal/log" || journal_full
  sync "$gpuadm_journal/log" 2>/dev/null || :
}

# thing_now KIND NAME: its current state, in the journal's notation.
thing_now() {
  case $1 in
    file)
      if [ -L "$2" ]; then
        printf 'link %s\n' "$(readlink "$2")"
      elif [ -f "$2" ]; then
        printf 'was %s %s\n' "$(stat -c '%a %u %g %.9Y' "$2")" "$(sha256_of "$2")"
      elif [ -e "$2" ]; then
        echo other
      else
        echo absent
      fi
      ;;
    mode) if [ -f "$2" ] && [ ! -L "$2" ]; then stat -c %a "$2"; else echo absent; fi ;;
    # A mount whose server does not answer is not touched.
    directory) if path_is_mount "$2" || { [ -d "$2" ] && [ ! -L "$2" ]; }; then echo there; else echo absent; fi ;;
    unit) printf '%s %s\n' "$(systemctl is-enabled "$2" 2>/dev/null || :)" "$(systemctl is-active "$2" 2>/dev/null || :)" ;;
    sysctl) { cat "/proc/sys/$2" 2>/dev/null || echo absent; } | tr '\t' ' ' ;;
    module) if [ -d "/sys/module/$(printf %s "$2" | tr - _)" ]; then echo loaded; else echo absent; fi ;;
    package) package_now "$2" ;;
    # With its priority, if one was set.
    swap) name=$2 awk '$1 == ENVIRON["name"] { is = $5 < 0 ? "on" : "on " $5 } END { print is == "" ? "off" : is }' /proc/swaps ;;
    image) if gpuadm_list=$(ctr --timeout 10s -n k8s.io images ls -q "name==$2" 2>/dev/null); then
      if [ -n "$gpuadm_list" ]; then echo there; else echo absent; fi
    elif have ctr; then echo unknown; else echo absent; fi ;;
    docker-image) if timeout 10 docker image inspect "$2" >/dev/null 2>&1; then echo there; else echo absent; fi ;;
    cluster) if [ -e /etc/kubernetes/admin.conf ] || [ -e /etc/kubernetes/kubelet.conf ]; then echo there; else echo absent; fi ;;
    mig) mig_now "$2" ;;
    compute-mode) compute_mode_now "$2" ;;
    persistence) persistence_now "$2" ;;
    *) echo unknown ;;
  esac
}

# path_is_mount PATH: whether it is the mount point of a storage.
path_is_mount() {
  case $1 in
    /srv/gpuadm/*) at=$1 awk '$5 == ENVIRON["at"] { found = 1 } END { exit !found }' /proc/self/mountinfo ;;
    *) return 1 ;;
  esac
}

# journal_thing KIND NAME: records its state, once per run.
journal_thing() {
  journal_open
  journal_has "$1" "$2" "$gpuadm_run" || journal_line "$1" "$2" "$(thing_now "$1" "$2")"
}

# journal_file PATH: called before a file is written, moved or removed. Missing parent folders are recorded as well.
journal_file() {
  journal_original "$1"
  journal_touched file "$1"
}

# journal_original PATH: the same for callers that record the new state with journal_wrote.
journal_original() {
  path_open "$1"
  journal_open
  ! journal_has file "$1" "$gpuadm_run" || return 0
  gpuadm_was=$(thing_now file "$1")
  case $gpuadm_was in
    was\ *) journal_keep "$1" "${gpuadm_was##* }" ;;
    absent) journal_parents "$1" ;;
    other) die "$1 is not a regular file: move it away, then run again" ;;
  esac
  journal_line file "$1" "$gpuadm_was"
}

# journal_keep PATH SHA256: stores its content, read as the user who could have replaced it with a symbolic link. The content is
# read even if the blob exists, because that user could otherwise get another file's content at undo.
journal_keep() {
  gpuadm_blob=$gpuadm_journal/blobs/$2
  if [ "$gpuadm_actor" = root ] && [ -f "$gpuadm_blob" ]; then return 0; fi
  gpuadm_copy=
  if gpuadm_copy=$(mktemp "$gpuadm_blob.XXXXXX") && path_do cat "$1" >"$gpuadm_copy" && [ "$(sha256_of "$gpuadm_copy")" = "$2" ]; then
    sync "$gpuadm_copy" 2>/dev/null || :
    mv -f "$gpuadm_copy" "$gpuadm_blob"
    return 0
  fi
  [ -z "$gpuadm_copy" ] || rm -f "$gpuadm_copy"
  say_full_disks
  die "cannot copy $1 to $gpuadm_journal as it was when it was inspected: nothing was changed; run again"
}

# journal_parents PATH: the folders that must be created for it.
journal_parents() {
  gpuadm_parent=$(dirname "$1")
  while [ ! -e "$gpuadm_parent" ]; do
    journal_thing directory "$gpuadm_parent"
    gpuadm_parent=$(dirname "$gpuadm_parent")
  done
}

# journal_touched KIND NAME: the new state is recorded when the step ends, so that undo can distinguish this run's changes from
# later ones.
journal_touched() { printf '%s\t%s\n' "$1" "$2" >>"$gpuadm_journal/touched"; }
journal_close() {
  [ -f "$gpuadm_journal/touched" ] || return 0
  while IFS=$gpuadm_tab read -r gpuadm_kind gpuadm_name; do
    journal_line "+$gpuadm_kind" "$gpuadm_name" "$(thing_now "$gpuadm_kind" "$gpuadm_name")"
  done <"$gpuadm_journal/touched"
  rm -f "$gpuadm_journal/touched"
}

# journal_wrote PATH NEW [SHA256]: called before it is replaced with the file NEW.
journal_wrote() {
  journal_line +file "$1" "was $(stat -c '%a %u %g %.9Y' "$2") ${3:-$(sha256_of "$2")}"
}

# journal_sysctl KEY: a path below /proc/sys.
journal_sysctl() {
  journal_thing sysctl "$1"
  journal_touched sysctl "$1"
}

# journal_unit UNIT: called before a unit is started, stopped, enabled, disabled or masked.
journal_unit() { journal_thing unit "$1"; }
# journal_module NAME: called before a module is loaded or unloaded.
journal_module() { journal_thing module "$1"; }
# journal_package NAME: called before a package is installed, upgraded or held.
journal_package() { journal_thing package "$1"; }
# journal_for_others KIND NAME: called before another program, such as a cluster component, changes it on behalf of gpuadm. Its
# changes are undone like gpuadm's own.
journal_for_others() {
  if [ "$1" = file ]; then journal_original "$2"; else journal_thing "$1" "$2"; fi
  journal_line "+$1" "$2" any
}
# journal_made KIND NAME: something without a previous state, for example a cluster.
journal_made() {
  journal_open
  journal_has "$1" "$2" "$gpuadm_run" || journal_line "$1" "$2" absent
}

# --- Paths that a user could have prepared -------------------------------------------------------------
# Root follows no symbolic link of a user, and trusts no folder to which a user may write. Below a folder that belongs to a user,
# changes are made as that user; if several users may write to the folder, nothing is changed.

# as_user USER COMMAND...
as_user() {
  gpuadm_user=$1
  shift
  if have runuser; then
    (cd / && exec runuser -u "$gpuadm_user" -- "$@")
  elif have su; then
    gpuadm_command=
    for gpuadm_word in "$@"; do gpuadm_command="$gpuadm_command $(shell_quoted "$gpuadm_word")"; done
    (cd / && exec su -s /bin/sh "$gpuadm_user" -c "exec$gpuadm_command")
  else
    die "this host has neither runuser nor su, and gpuadm must act as $gpuadm_user: install util-linux"
  fi
}
shell_quoted() { printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }
home_of() { getent passwd "$1" | cut -d: -f6; }

# path_look PATH [follow]: determines who could change the target of PATH. Sets gpuadm_actor: "root", or the user who owns a folder
# on the path; gpuadm_theirs: that folder; gpuadm_real: PATH with root's links resolved, the last part only with "follow". Fails if
# several users could change it, with the reason in gpuadm_why.
path_look() {
  gpuadm_actor=root gpuadm_theirs='' gpuadm_real=$1 gpuadm_missing=no gpuadm_why=''
  case $1 in *"$gpuadm_tab"* | *"$gpuadm_newline"*)
    gpuadm_why="a path with a tab or a newline is not supported: $1"
    return 1
    ;;
  esac
  ! path_is_plain "$@" || return 0
  gpuadm_rest=$1 gpuadm_real='' gpuadm_links=0 gpuadm_self=$(id -u)
  path_stat / && path_judge || return 1
  while :; do
    gpuadm_rest=${gpuadm_rest#"${gpuadm_rest%%[!/]*}"}
    gpuadm_part=${gpuadm_rest%%/*}
    gpuadm_rest=${gpuadm_rest#"$gpuadm_part"}
    case $gpuadm_part in
      '') return 0 ;;
      .) continue ;;
      ..)
        gpuadm_real=${gpuadm_real%/*}
        continue
        ;;
    esac
    if ! path_stat "$gpuadm_real/$gpuadm_part"; then # does not exist yet
      gpuadm_real=$gpuadm_real/$gpuadm_part$gpuadm_rest
      [ -z "$gpuadm_rest" ] || gpuadm_missing=yes
      return 0
    fi
    case $gpuadm_mode:${gpuadm_rest%%[!/]*}${2:-} in
      l*:?*)
        if [ "$gpuadm_actor" != root ] || ! path_is_roots; then
          gpuadm_why="$gpuadm_at is a symbolic link of $(user_name "$gpuadm_uid"): specify its target instead"
          return 1
        fi
        gpuadm_links=$((gpuadm_links + 1))
        [ "$gpuadm_links" -le 40 ] || {
          gpuadm_why="$1 has too many levels of symbolic links"
          return 1
        }
        gpuadm_part=$(readlink "$gpuadm_at")
        case $gpuadm_part in /*) gpuadm_real='' ;; esac
        gpuadm_rest=/$gpuadm_part$gpuadm_rest
        ;;
      d*)
        gpuadm_real=$gpuadm_at
        [ -z "${gpuadm_rest%%[!/]*}" ] || path_judge || return 1
        ;;
      *)
        gpuadm_real=$gpuadm_at
        # In a folder such as /tmp every user may replace their own files.
        if [ "$gpuadm_sticky" = yes ] && ! path_is_roots && [ "$(user_name "$gpuadm_uid")" != "$gpuadm_actor" ]; then
          gpuadm_why="$gpuadm_at belongs to $(user_name "$gpuadm_uid"), who could replace it at any time: remove it, or choose another path"
          return 1
        fi
        [ -n "${gpuadm_rest%%[!/]*}" ] || return 0
        gpuadm_why="$gpuadm_at is not a folder"
        return 1
        ;;
    esac
  done
}

# path_is_plain PATH [follow]: only root can write to the folders on the path, and no part is a link. This common case needs two
# processes only.
path_is_plain() {
  case $1/ in /*) ;; *) return 1 ;; esac
  case $1/ in *//* | */./* | */../*) return 1 ;; esac
  [ -z "${2:-}" ] || [ ! -L "$1" ] || return 1
  gpuadm_rest=${1#/}
  set -- /
  gpuadm_part=
  while [ "$gpuadm_rest" != "${gpuadm_rest#*/}" ]; do
    gpuadm_part=$gpuadm_part/${gpuadm_rest%%/*}
    gpuadm_rest=${gpuadm_rest#*/}
    set -- "$@" "$gpuadm_part"
  done
  # shellcheck disable=SC2012 # of each entry only what stands before its name is read
  { ls -ldn "$@" 2>/dev/null || :; } |
    awk '$1 !~ /^d/ || $3 != 0 || $1 ~ /^.....w.*\+/ || (substr($1, 6, 1) == "w" && $4 != 0) || substr($1, 9, 1) == "w" { bad = 1; exit } END { exit bad }'
}

# path_stat PATH: sets gpuadm_at and, of the file or the link itself, gpuadm_mode (drwxr-xr-x, with + if it has an ACL), gpuadm_uid
# and gpuadm_gid. Fails if nothing exists there.
path_stat() {
  gpuadm_at=$1
  # shellcheck disable=SC2012
  gpuadm_mode=$(ls -ldn "$1" 2>/dev/null) || return 1
  set -f
  # shellcheck disable=SC2086 # its columns
  set -- $gpuadm_mode
  set +f
  gpuadm_mode=$1 gpuadm_uid=$3 gpuadm_gid=$4
}
path_is_roots() { [ "$gpuadm_uid" = 0 ] || [ "$gpuadm_uid" = "$gpuadm_self" ]; }

# user_name UID: "the user id 1001" if the host has no such user.
user_name() {
  gpuadm_name=$(getent passwd "$1" | cut -d: -f1)
  printf '%s\n' "${gpuadm_name:-the user id $1}"
}

# path_judge: determines who may write to the folder that path_stat has inspected.
path_judge() {
  gpuadm_sticky=no
  if ! path_is_roots; then
    gpuadm_name=$(user_name "$gpuadm_uid")
    case $gpuadm_actor:$gpuadm_name in
      *:'the user id '*)
        gpuadm_why="$gpuadm_at belongs to $gpuadm_name, which does not exist on this host: run chown root:root $gpuadm_at, then run again"
        return 1
        ;;
      root:*) gpuadm_actor=$gpuadm_name gpuadm_theirs=$gpuadm_at ;;
      "$gpuadm_name:$gpuadm_name") ;;
      *)
        gpuadm_why="$gpuadm_at belongs to $gpuadm_name, and its parent $gpuadm_theirs belongs to $gpuadm_actor: choose another path"
        return 1
        ;;
    esac
  fi
  case $gpuadm_mode in
    d????????[tT]*)
      gpuadm_sticky=yes
      return 0
      ;;
    d???????w*) gpuadm_name="every user" ;;
    d????w*+*) gpuadm_name="another user (by an ACL)" ;;
    d????w*)
      [ "$gpuadm_self" = 0 ] || [ "$gpuadm_gid" != "$(id -g)" ] || return 0
      gpuadm_name=$(getent group "$gpuadm_gid" | cut -d: -f1,4)
      # Root's group, and a user's private group.
      case $gpuadm_gid:$gpuadm_name in 0:* | *:"$gpuadm_actor:" | *:"$gpuadm_actor:$gpuadm_actor") return 0 ;; esac
      # A group without members, such as Debian's staff, which owns /usr/local.
      case $gpuadm_name in ?*:) getent passwd | gid=$gpuadm_gid awk -F: '$4 == ENVIRON["gid"] { found = 1 } END { exit found }' && return 0 ;; esac
      gpuadm_name="the group ${gpuadm_name%%:*}"
      ;;
    *) return 0 ;;
  esac
  gpuadm_why="$gpuadm_name may write to $gpuadm_at and could interfere with gpuadm: run chmod go-w $gpuadm_at, or choose another path"
  return 1
}

# path_open PATH [follow]: called before root reads, writes or removes PATH. Sets gpuadm_real to its location. A user's folder on
# the path ends the step, unless path_open_as_owner was called for the path before.
path_open() {
  [ "${gpuadm_opened:-}" != "$1" ] || return 0
  path_open_as_owner "$@"
  [ "$gpuadm_actor" = root ] ||
    die "$gpuadm_theirs belongs to $gpuadm_actor, who could interfere with gpuadm: run chown root:root $gpuadm_theirs, then run again"
}
# path_open_as_owner PATH [follow]: the same, but path_do may act as the user who owns a folder on the path.
path_open_as_owner() {
  [ "${gpuadm_opened:-}" != "$1" ] || return 0
  path_look "$@" || die "$gpuadm_why"
  gpuadm_opened=$1
  [ -z "${2:-}" ] || gpuadm_opened=$gpuadm_real
}
# path_open_as USER PATH: changes below a user's home are made as that user, regardless of its owner.
path_open_as() {
  gpuadm_actor=$1 gpuadm_theirs=$2 gpuadm_real=$2 gpuadm_opened=$2 gpuadm_missing=no
}

# path_do COMMAND...: runs it as the user whom path_open has determined.
path_do() {
  if [ "$gpuadm_actor" = root ]; then "$@"; else as_user "$gpuadm_actor" "$@"; fi
}

# path_make_folder: creates the missing folders of the opened path; each of them must be new.
path_make_folder() {
  gpuadm_folder=${gpuadm_opened%/*}/
  if [ -d "$gpuadm_folder" ]; then
    [ "$gpuadm_missing" = no ] || die "another process has created $gpuadm_folder: run again"
    return 0
  fi
  set --
  while gpuadm_folder=${gpuadm_folder%/} && [ -n "$gpuadm_folder" ] && [ ! -e "$gpuadm_folder" ]; do
    set -- "$gpuadm_folder" "$@"
    gpuadm_folder=${gpuadm_folder%/*}/
  done
  path_do mkdir "$@" || die "$gpuadm_actor cannot create the folder ${gpuadm_opened%/*}"
  gpuadm_missing=no
}

# path_new: sets gpuadm_new to a new empty file next to the opened path, for its owner only.
path_new() { gpuadm_new=$(path_do mktemp "$gpuadm_opened.gpuadm.XXXXXX"); }
# path_is_new: gpuadm_new is still that file. It does not matter for a user in their own folder.
path_is_new() {
  [ "$gpuadm_actor" = root ] || return 0
  if [ -L "$gpuadm_new" ] || [ ! -f "$gpuadm_new" ]; then die "another process has replaced $gpuadm_new: run again"; fi
}
# path_become: renames gpuadm_new to the opened path, and replaces a link there.
path_become() {
  sync "$gpuadm_new" 2>/dev/null || :
  path_do mv -fT "$gpuadm_new" "$gpuadm_opened"
  ! have restorecon || path_do restorecon "$gpuadm_opened" 2>/dev/null || :
}

# path_write MODE [SHA256]: writes stdin to the opened path. With its checksum, the new state is journaled first.
path_write() {
  path_make_folder
  path_new || return 1
  path_do tee "$gpuadm_new" >/dev/null || {
    path_do rm -f "$gpuadm_new" # if the disk is full
    return 1
  }
  path_is_new
  path_do chmod "$1" "$gpuadm_new"
  [ -z "${2:-}" ] || journal_wrote "$gpuadm_opened" "$gpuadm_new" "$2"
  path_become
}

# --- Files -------------------------------------------------------------------------------------------

# file_is PATH MODE: whether its content is $content. If not, its content is printed. MODE "keep": any mode.
file_is() {
  [ -f "$1" ] || return 1
  # The size, because a shell drops NUL bytes, and an x, because it drops newlines at the end.
  gpuadm_file_is=$(stat -L -c '%a %s' "$1")
  case $2 in keep) gpuadm_file_as=${gpuadm_file_is% *} ;; *) gpuadm_file_as=${2#0} ;; esac
  if [ "$gpuadm_file_is" = "$gpuadm_file_as ${#content}" ] && [ "$(cat "$1" && printf x)" = "${content}x" ]; then return 0; fi
  if [ "$2" = keep ] && file_sum_is "$1" "$(printf '%s' "$content" | sha256sum | cut -d' ' -f1)"; then return 0; fi
  head -c 262144 "$1"
  return 1
}

# file_sum_is PATH SHA256: the checksum of its content, or of its lines as the probe prints them, with plain newlines.
file_sum_is() {
  [ "$(sha256_of "$1")" = "$2" ] ||
    [ "$(awk '{ sub(/\r$/, ""); print }' "$1" | sha256sum | cut -d' ' -f1)" = "$2" ]
}

# file_put PATH MODE [UNIT]: writes $content next to the target and renames it; a unit that reads it is marked for a restart first,
# so that the next run restarts it after an interruption. A link is followed.
# $base_sha256: the checksum of the content from which $content was made; if the file has changed since, nothing is written.
# MODE "keep": its current mode and owner, or 0644. If the step has a file_validate, it validates $new before $path is replaced; its
# stderr is the reason.
file_put() {
  path_open "$1" follow
  gpuadm_path=$gpuadm_real
  if [ -n "${base_sha256:-}" ]; then
    if [ -f "$gpuadm_path" ]; then file_sum_is "$gpuadm_path" "$base_sha256"; else [ "$base_sha256" = absent ]; fi ||
      die "$1 has changed since it was read: run again"
  fi
  journal_original "$gpuadm_path"
  path_make_folder
  path_new || return 1
  printf '%s' "$content" >"$gpuadm_new" || {
    rm -f "$gpuadm_new" # if the disk is full
    return 1
  }
  path_is_new
  case $2 in
    keep) file_mode_like "$gpuadm_path" "$gpuadm_new" ;;
    *) chmod "$2" "$gpuadm_new" ;;
  esac
  file_try "$gpuadm_path" "$gpuadm_new" "${3:-}"
  if [ -n "${3:-}" ]; then
    journal_has reader "$gpuadm_path" "$gpuadm_run" || journal_line reader "$gpuadm_path" "$3"
    unit_stale "$3"
  fi
  journal_wrote "$gpuadm_path" "$gpuadm_new"
  path_become
}

# file_mode_like PATH NEW: sets NEW to the mode and owner of PATH, or to 0644 if PATH does not exist.
file_mode_like() {
  if [ -e "$1" ]; then
    chown -h --reference="$1" "$2"
    chmod --reference="$1" "$2"
  else
    chmod 0644 "$2"
  fi
}

# file_try PATH NEW [UNIT]: ends the step if its validation rejects NEW. Files that this run has written for the unit, which has not read
# them yet, are restored.
file_try() {
  command -v file_validate >/dev/null || return 0
  # shellcheck disable=SC2034 # file_validate reads them
  if ! gpuadm_why=$(path=$1 new=$2 && file_validate 2>&1); then
    rm -f "$2"
    if [ "$(unit_is_stale_by "${3:-}")" = "$gpuadm_run" ]; then
      restore_unit_files "$3" "$gpuadm_run" >/dev/null
      unit_is_fresh "$3"
    fi
    say "$gpuadm_why"
    die "$1 was not changed: the program that reads it rejects the new content"
  fi
}

# file_install PATH MODE: the same with stdin, which must have the checksum $bundle_sha256. If it is the file $gpuadm_arrived, whose
# checksum was verified on arrival, it is moved instead of copied.
file_install() {
  path_open "$1"
  journal_original "$1"
  path_make_folder
  path_new
  trap '[ -z "$gpuadm_new" ] || path_do rm -f "$gpuadm_new"' EXIT
  # The checksum is computed during the write; a full disk makes it differ.
  if [ -n "${gpuadm_arrived:-}" ] && [ "$gpuadm_actor" = root ] && mv -fT "$gpuadm_arrived" "$gpuadm_new" 2>/dev/null; then
    gpuadm_sha=$bundle_sha256
  else
    gpuadm_sha=$({ path_do tee "$gpuadm_new" || echo damaged; } | sha256sum | cut -d' ' -f1)
  fi
  [ "$gpuadm_sha" = "$bundle_sha256" ] || die "$1 was damaged in transit: run again"
  path_is_new
  path_do chmod "$2" "$gpuadm_new"
  journal_wrote "$1" "$gpuadm_new" "$gpuadm_sha"
  path_become
  gpuadm_new=
  mkdir -p "$gpuadm_home/sums"
  printf '%s\n' "$gpuadm_sha $(file_identity "$1")" >"$(file_sum_note "$1")"
}

# program_notes PROGRAM...: notes what programs of Kubernetes say of themselves, for the probe (noted in probe.sh), which otherwise starts
# each of them in every run. The first line of a note is the identity of the file.
program_notes() {
  for gpuadm_program in "$@"; do
    case $gpuadm_program in
      kubelet) program_note kubelet kubelet --version ;;
      kubectl) program_note kubectl kubectl version --client -o json ;;
      kubeadm)
        program_note kubeadm kubeadm version -o short
        program_note kubeadm-images kubeadm config images list --kubernetes-version "$(kubeadm version -o short 2>/dev/null)"
        ;;
    esac
  done
}
# program_note NAME COMMAND...: one that fails is not noted.
program_note() {
  gpuadm_note=$gpuadm_home/versions/$1
  shift
  mkdir -p "$gpuadm_home/versions"
  rm -f "$gpuadm_note"
  gpuadm_said=$(limit_of 10 "$@" 2>/dev/null) && [ -n "$gpuadm_said" ] || return 0
  printf '%s\n%s\n' "$(file_identity "$(command -v "$1")")" "$gpuadm_said" >"$gpuadm_note.new" && mv -f "$gpuadm_note.new" "$gpuadm_note" || return 0
}

# bundle_file_is_whole: verifies the checksum of the bundle's file on stdin, or ends the step. Files from the depot were verified
# there; small files that bypass it are written to disk first.
bundle_file_is_whole() {
  [ -z "${depot_file:-}" ] || return 0
  cat >"$gpuadm_home/arrives" || : "the sum is another then"
  gpuadm_sum=$(sha256_of "$gpuadm_home/arrives")
  exec <"$gpuadm_home/arrives"
  rm -f "$gpuadm_home/arrives"
  [ "$gpuadm_sum" = "$bundle_sha256" ] || die "a file of the bundle was damaged in transit: run again"
}

# file_has_sum PATH SHA256: a file that was installed with that checksum is not read again unless it was modified.
file_has_sum() {
  [ -f "$1" ] || return 1
  if [ "$(first_line "$(file_sum_note "$1")")" = "$2 $(file_identity "$1")" ]; then return 0; fi
  [ "$(sha256_of "$1")" = "$2" ]
}
file_sum_note() {
  flat "$1"
  printf '%s/sums/%s' "$gpuadm_home" "$gpuadm_flat"
}
file_identity() { stat -L -c '%n %d %i %s %y %z' "$1"; }

# file_become PATH STATE: restores a state from the journal.
file_become() {
  path_open_as_owner "$1"
  case $2 in
    absent) path_do rm -f "$1" ;;
    link\ *)
      gpuadm_new=$(path_do mktemp -u "$1.gpuadm.XXXXXX")
      path_do ln -sT "${2#link }" "$gpuadm_new" # fails if something exists there
      path_do mv -fT "$gpuadm_new" "$1"
      ;;
    was\ *)
      # shellcheck disable=SC2086 # was, mode, owner, group, time, sum
      set -- "$1" $2
      [ "$(sha256_of "$gpuadm_journal/blobs/$7")" = "$7" ] ||
        die "$gpuadm_journal/blobs/$7, the original of $1, is damaged: restore $1 from a backup"
      path_new || return 1
      path_do tee "$gpuadm_new" <"$gpuadm_journal/blobs/$7" >/dev/null || {
        path_do rm -f "$gpuadm_new" # if the disk is full
        return 1
      }
      path_is_new
      if [ "$(stat -c %u:%g "$gpuadm_new")" != "$4:$5" ] && ! path_do chown -h "$4:$5" "$gpuadm_new"; then
        path_do rm -f "$gpuadm_new"
        die "$1 belonged to the user id $4, and $gpuadm_theirs now belongs to $gpuadm_actor: the previous content is in $gpuadm_journal/blobs/$7"
      fi
      path_do chmod "$3" "$gpuadm_new"
      path_do touch -d "@$6" "$gpuadm_new"
      path_become
      ;;
    *) return 1 ;;
  esac
}

# file_remove PATH: a step that is killed afterwards is undone, too.
file_remove() {
  journal_original "$1"
  journal_line +file "$1" absent
  rm -f "$1"
}

# file_restore PATH: restores the state before this run, or before the last run that changed it. Fails if the journal does not
# contain it.
file_restore() {
  gpuadm_state=$(name=$1 run=$gpuadm_run awk -F '\t' '
    NF == 5 && $1 == "file" && $2 == ENVIRON["name"] { if ($5 != ENVIRON["run"]) last = $3; else if (own == "") own = $3 }
    END { print own == "" ? last : own }' "$gpuadm_journal/log")
  path_open_as_owner "$1"
  journal_original "$1"
  file_become "$1" "$gpuadm_state" || return 1
  journal_line +file "$1" "$(thing_now file "$1")"
}

# restore_unit_files UNIT [RUN]: restores the files of the unit that the run, or the last run that wrote any, has written. Prints their
# names.
restore_unit_files() {
  [ -f "$gpuadm_journal/log" ] || return 0
  unit=$1 only=${2:-} awk -F '\t' '
    NF == 5 && $1 == "reader" && $3 == ENVIRON["unit"] && (ENVIRON["only"] == "" || $5 == ENVIRON["only"]) { if ($5 != run) { run = $5; n = 0 } name[n++] = $2 }
    END { while (n) print name[--n] }' "$gpuadm_journal/log" |
    while IFS= read -r gpuadm_file; do
      file_restore "$gpuadm_file" && printf ' %s' "$gpuadm_file"
    done
}

# would_become PATH: for checks of what a step will write; the new text is on stdin. A preview shows the diff.
would_become() {
  if [ "$gpuadm_step" != preview ] || ! have diff; then return 0; fi
  if [ -f "$1" ]; then gpuadm_old=$1; else gpuadm_old=/dev/null; fi
  diff -u --label "$gpuadm_old" --label "$1" "$gpuadm_old" - | head -c 262144 || :
}

# --- Fetching ----------------------------------------------------------------------------------------

# The proxy of the host's services and of gpuadm's own steps. It may contain a password.
gpuadm_proxy_file=/etc/gpuadm/proxy.env
# Proxy variables of the login would also affect kubeadm and kubectl, so programs that need a proxy get it explicitly; only zypper
# uses the variables.
[ ! -f "$gpuadm_proxy_file" ] || command -v zypper >/dev/null ||
  unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

# fetch URL SECONDS [OPTION...]: to stdout, through the host's proxy. curl reads the proxy from stdin, because its arguments are
# visible. An https URL may be redirected to https only.
fetch() {
  gpuadm_url=$1 gpuadm_seconds=$2
  shift 2
  case $gpuadm_url in
    https:*)
      gpuadm_scheme=HTTPS_PROXY
      set -- --proto-redir =https "$@"
      ;;
    *) gpuadm_scheme=HTTP_PROXY ;;
  esac
  { cat "$gpuadm_proxy_file" 2>/dev/null || :; } |
    awk -F= -v scheme="$gpuadm_scheme" '$1 == scheme { sub(/^[^=]*=/, "proxy = "); print } $1 == "NO_PROXY" { sub(/^[^=]*=/, "noproxy = "); print }' |
    curl -K - -fsSL --connect-timeout 15 --max-time "$gpuadm_seconds" "$@" "$gpuadm_url"
}

# --- Requests to an API server or to etcd --------------------------------------------------------------
# A step that changes something repeats a request whose failure passes, for $request_again seconds since its first attempt. The checks before it
# send it once, so that a preview of a cluster that does not answer does not take a minute for each request. So do polls (in_time), which repeat
# by themselves, and requests whose second attempt would not find what the first one found: create, replace.

# request_may_pass TEXT: whether the error is one that passes: a connection that is refused or ends, 429, 5xx, or etcd that has no leader or no
# healthy quorum for the moment. Every other answer is definite, such as 403, "not found" or an unknown kind.
request_may_pass() {
  case $1 in
    *'(Forbidden)'* | *'(Unauthorized)'* | *'(NotFound)'* | *'(AlreadyExists)'* | *'(Conflict)'* | *'(Invalid)'* | *'(BadRequest)'*) return 1 ;;
    *'onnection refused'* | *'connection to the server '*' was refused'* | *'onnection reset'* | *'connection lost'* | *EOF* | *'i/o timeout'* | *'handshake timeout'* | *'deadline exceeded'*) ;;
    *'request canceled'* | *'Client.Timeout'* | *'imed out'* | *'time allotted'* | *'(Timeout)'* | *'(ServerTimeout)'* | *'code = Unavailable'*) ;;
    *'(TooManyRequests)'* | *'oo many requests'* | *'(ServiceUnavailable)'* | *'(InternalError)'* | *'unable to handle the request'* | *'an error on the server'*) ;;
    *'unhealthy cluster'* | *'no leader'* | *'leader changed'* | *'not leader'* | *'server stopped'*) ;;
    *) return 1 ;;
  esac
}

# request COMMAND...: runs it, and again while its error is one that passes. Prints the output of the last attempt alone. It has no input.
request() {
  if [ "${request_again:-0}" = 0 ] || [ ! -d "$gpuadm_lock" ]; then
    "$@"
    return
  fi
  request_until=$(($(uptime_seconds) + request_again))
  request_error=$(mktemp "$gpuadm_lock/request.XXXXXX") || return
  while :; do
    request_status=0
    request_out=$("$@" 2>"$request_error") || request_status=$?
    if [ "$request_status" -eq 0 ] || [ "$(uptime_seconds)" -ge "$request_until" ] || ! request_may_pass "$(cat "$request_error")"; then break; fi
    sleep 1
  done
  cat "$request_error" >&2
  rm -f "$request_error"
  [ -z "$request_out" ] || printf '%s\n' "$request_out"
  return "$request_status"
}

# kube ARGUMENT...: kubectl as a request; what "-f -" reads is kept for the next attempt. $kube_limit: at most so many seconds for each.
kube() {
  case " $* " in
    *' - '*)
      request_input=$(cat)
      request kube_with_input "$@"
      ;;
    *) request kube_once "$@" ;;
  esac
}
kube_once() {
  if [ -n "${kube_limit:-}" ]; then limit_of "$kube_limit" kubectl "$@"; else kubectl "$@"; fi
}
kube_with_input() { printf '%s\n' "$request_input" | kube_once "$@"; }

# --- Manifests ---------------------------------------------------------------------------------------
# /etc/kubernetes/gpuadm/NAME.yaml, and in the cluster the checksum of the last applied version.

manifest_is_applied() {
  export KUBECONFIG=/etc/kubernetes/admin.conf
  gpuadm_file=/etc/kubernetes/gpuadm/$1.yaml
  [ -f "$gpuadm_file" ] || return 1
  ! cluster_says "objects $1" || ! cluster_says "sum $1 $(sha256_of "$gpuadm_file")" || return 0
  [ "$(kubectl --request-timeout=10s -n kube-system get configmap gpuadm -o "jsonpath={.data.$1}" 2>/dev/null)" = \
    "$(sha256_of "$gpuadm_file")" ] || return 1
  kubectl --request-timeout=10s get -f "$gpuadm_file" -o name >/dev/null 2>&1 || return 1
}

manifest_apply() {
  export KUBECONFIG=/etc/kubernetes/admin.conf
  gpuadm_file=/etc/kubernetes/gpuadm/$1.yaml
  kube --request-timeout=30s apply -f "$gpuadm_file"
  kube --request-timeout=10s -n kube-system create configmap gpuadm 2>/dev/null || : "it is there"
  kube --request-timeout=10s -n kube-system patch configmap gpuadm --type merge \
    -p "{\"data\":{\"$1\":\"$(sha256_of "$gpuadm_file")\"}}"
}

# A template of kubectl: a line per pod, columns separated by tabs: NAMESPACE/NAME, the kind of its first owner, "mirror" for a static pod, the
# phase, "host" in the network of its host. Kinds of owners and phases are texts of users and nodes: they are quoted, and cannot forge a line.
# shellcheck disable=SC2016,SC2034 # a template
pod_rows='go-template={{range .items}}{{.metadata.namespace}}/{{.metadata.name}}{{"\t"}}{{range $index, $owner := .metadata.ownerReferences}}{{if eq $index 0}}{{printf "%q" $owner.kind}}{{end}}{{end}}{{"\t"}}{{with .metadata.annotations}}{{with index . "kubernetes.io/config.mirror"}}mirror{{end}}{{end}}{{"\t"}}{{with .status}}{{with .phase}}{{printf "%q" .}}{{end}}{{end}}{{"\t"}}{{if .spec.hostNetwork}}host{{end}}{{"\n"}}{{end}}'

# cluster_objects NAMES: gpuadm's DaemonSets and ConfigMaps in kube-system whose names start with NAMES, a regular expression; one
# KIND/NAME per line. Fails if the API server does not list them.
cluster_objects() {
  export KUBECONFIG=/etc/kubernetes/admin.conf
  gpuadm_listed=$(object_names kube --request-timeout=10s -n kube-system get daemonsets,configmaps -l app.kubernetes.io/managed-by=gpuadm) || return 1
  printf '%s\n' "$gpuadm_listed" | grep -E "/($1)" | sort || :
}
# cluster_objects_unused NAMES NEEDED: those that are not among NEEDED, words KIND/NAME. Fails as cluster_objects does.
cluster_objects_unused() {
  gpuadm_there=$(cluster_objects "$1") || return 1
  for gpuadm_object in $gpuadm_there; do
    case " $2 " in *" $gpuadm_object "*) ;; *) printf '%s\n' "$gpuadm_object" ;; esac
  done
}

# How long the deletion of pods may take, in seconds: session::end_of_pods says why.
gpuadm_end_of_pods=300

# cluster_objects_keep NAMES [KIND/NAME...]: deletes all of them except these, and waits until the pods of the deleted ones have
# terminated, because an MPS daemon releases its GPUs when it exits.
cluster_objects_keep() {
  export KUBECONFIG=/etc/kubernetes/admin.conf
  gpuadm_names=$1
  shift
  gpuadm_unused=$(cluster_objects_unused "$gpuadm_names" "$*")
  for gpuadm_object in $gpuadm_unused; do kube --request-timeout=60s -n kube-system delete "$gpuadm_object" --ignore-not-found; done
  in_time "$gpuadm_end_of_pods" cluster_objects_ended "$gpuadm_names" || say "pods of the removed DaemonSets are still running: run kubectl -n kube-system get pods -o wide"
}

# cluster_objects_ended NAMES: no pod is owned by a deleted DaemonSet.
cluster_objects_ended() {
  gpuadm_there=$(cluster_objects "$1") || return 1
  gpuadm_there=$(printf '%s\n' "$gpuadm_there" | sed -n 's|^daemonset[^/]*/||p')
  kubectl --request-timeout=10s -n kube-system get pods \
    -o jsonpath='{range .items[*]}{.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}{"\n"}{end}' |
    sed -n 's|^DaemonSet/||p' | grep -E "^($1)" | sort -u |
    while read -r gpuadm_daemonset; do
      printf '%s\n' "$gpuadm_there" | grep -qxF "$gpuadm_daemonset" || exit 1
    done
}

# manifest_objects NAME: its objects, in the format of cluster_objects.
manifest_objects() {
  gpuadm_objects=$(object_names kube --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s create --dry-run=client \
    -f "/etc/kubernetes/gpuadm/$1.yaml") || return
  printf '%s\n' "$gpuadm_objects" | sort
}

# gpu_reports SLOT FIELD: the value, or unknown. Errors of nvidia-smi are in its stdout.
gpu_reports() {
  gpuadm_is=$(limit_of 20 nvidia-smi -i "$1" "--query-gpu=$2" --format=csv,noheader 2>/dev/null) || gpuadm_is=unknown
  printf '%s\n' "$gpuadm_is"
}
# compute_mode_now SLOT: Default, Exclusive_Process, Prohibited.
compute_mode_now() { gpu_reports "$1" compute_mode; }
# persistence_now SLOT: Enabled, Disabled.
persistence_now() { gpu_reports "$1" persistence_mode; }

# --- MIG -----------------------------------------------------------------------------------------------
# The MIG layout of a GPU: "off", or "on" and the profiles of its instances in order, separated by commas. SLOT is its PCI address.

# mig_now SLOT: "pending ..." if the layout changes at a reset or cannot be read.
mig_now() {
  gpuadm_mode=$(limit_of 20 nvidia-smi -i "$1" --query-gpu=mig.mode.current,mig.mode.pending --format=csv,noheader 2>/dev/null) || gpuadm_mode=unknown
  case $gpuadm_mode in
    'Enabled, Enabled') if gpuadm_mig=$(mig_instances "$1"); then echo "on $gpuadm_mig"; else echo 'pending unknown'; fi ;;
    'Disabled, Disabled' | '[N/A], [N/A]') echo off ;;
    *) echo "pending $gpuadm_mode" ;;
  esac
}
# nvidia-smi also fails if there are none.
mig_instances() {
  gpuadm_list=$(limit_of 20 nvidia-smi mig -i "$1" -lgi 2>&1) ||
    case $gpuadm_list in *'No GPU instances found'* | *'No MIG-enabled devices found'*) ;; *) return 1 ;; esac
  printf '%s\n' "$gpuadm_list" | awk '$2 ~ /^[0-9]+$/ && $3 == "MIG" { print $4 }' | sort | paste -sd, -
}
limit_of() {
  if have timeout; then timeout -k 5 "$@"; else shift && "$@"; fi
}

# mig_become SLOT STATE: applies the layout. The GPU must be idle; a required reset or reboot is reported, but never done here.
mig_become() {
  gpuadm_users=$(limit_of 20 nvidia-smi -i "$1" --query-compute-apps=pid,process_name --format=csv,noheader 2>/dev/null || :)
  [ -z "$gpuadm_users" ] || die "GPU $1 is in use: $(printf %s "$gpuadm_users" | head -n 3 | tr '\n' ';')"
  case $(mig_now "$1") in
    on\ *)
      limit_of 60 nvidia-smi mig -i "$1" -dci >/dev/null 2>&1 || : "there are none"
      limit_of 60 nvidia-smi mig -i "$1" -dgi >/dev/null 2>&1 || : "there are none"
      ;;
  esac
  case $2 in
    off) limit_of 60 nvidia-smi -i "$1" -mig 0 >&2 ;;
    on*) limit_of 60 nvidia-smi -i "$1" -mig 1 >&2 ;;
    *) die "invalid MIG layout of GPU $1: $2" ;;
  esac
  case $(mig_now "$1") in
    'pending unknown') die "nvidia-smi does not report the MIG layout of GPU $1: run nvidia-smi mig -i $1 -lgi" ;;
    pending*) die "GPU $1 changes its MIG mode only at a reset or a reboot: run nvidia-smi --gpu-reset -i $1, or reboot, then run again" ;;
  esac
  case $2 in on\ ?*) limit_of 120 nvidia-smi mig -i "$1" -cgi "${2#on }" -C >&2 ;; esac
}

# --- Pods of a wait ------------------------------------------------------------------------------------

# The exit status of a wait's check whose condition cannot become true. No common program uses it.
gpuadm_hopeless=64
# wait_is_hopeless TEXT: ends the wait immediately, with the reason.
wait_is_hopeless() {
  say "$*"
  exit "$gpuadm_hopeless"
}

# pods_unready NAMESPACE [KUBECTL-ARGUMENT...]: a line for each of the first 8 pods that have neither completed nor are ready: its name, node
# and status. The runner judges them, and ends the wait if a pod cannot become ready: kube::read_unready, run/pods.cpp.
pods_unready() {
  gpuadm_namespace=$1
  shift
  gpuadm_pods=$(node_kubectl -n "$gpuadm_namespace" get pods "$@" \
    -o 'jsonpath={range .items[*]}gpuadm-pod{"\t"}{.metadata.name}{"\t"}{.spec.nodeName}{"\t"}{.status}{"\n"}{end}') || return 1
  printf '%s\n' "$gpuadm_pods" | awk -F '\t' '
    $1 == "gpuadm-pod" && $4 !~ /"status":"True","type":"Ready"|"phase":"Succeeded"/ && shown++ < 8'
}

# --- Labels of nodes ---------------------------------------------------------------------------------
# LABELS: one per line, "key=value" to set it, "key-" to remove it.

# object_names KUBECTL...: the names of objects, KIND/NAME, that this command prints with -o name; kubectl also prints sentences. Fails as
# the command does.
object_names() {
  gpuadm_named=$("$@" -o name) || return
  printf '%s\n' "$gpuadm_named" | grep -E '^[a-z0-9.-]+/[^ ]+$' || :
}

# node_kubectl ARGUMENT...: as an administrator if this host has admin.conf, otherwise as its own node.
node_kubectl() {
  gpuadm_as=/etc/kubernetes/admin.conf
  [ -f "$gpuadm_as" ] || gpuadm_as=/etc/kubernetes/kubelet.conf
  kube --kubeconfig "$gpuadm_as" --request-timeout=10s "$@"
}

# node_has_labels NODE LABELS
node_has_labels() {
  [ -f /etc/kubernetes/kubelet.conf ] || return 1
  gpuadm_there=$(node_kubectl label node "$1" --list 2>/dev/null) || return 1
  printf '%s\n' "$2" | there=$gpuadm_there awk '
    BEGIN {
      lines = split(ENVIRON["there"], line, "\n")
      for (i = 1; i <= lines; i++) { all[line[i]] = 1; sub(/=.*/, "", line[i]); keys[line[i]] = 1 }
    }
    /-$/ && index($0, "=") == 0 { sub(/-$/, ""); if ($0 in keys) exit 1; next }
    NF && !($0 in all) { exit 1 }'
}

# node_label NODE LABELS
node_label() {
  # shellcheck disable=SC2086 # a word a label: they hold no blanks
  node_kubectl label --overwrite node "$1" $2
}

# --- Units -------------------------------------------------------------------------------------------

# unit_stale UNIT: marks it as running with outdated files, since this run or an earlier one.
unit_stale() {
  mkdir -p "$gpuadm_home/stale"
  unit_is_stale "$1" || printf '%s' "$gpuadm_run" >"$gpuadm_home/stale/$1"
}
unit_is_stale_by() { cat "$gpuadm_home/stale/$1" 2>/dev/null || :; }
unit_is_stale() { [ -e "$gpuadm_home/stale/$1" ]; }
unit_is_fresh() { rm -f "$gpuadm_home/stale/$1"; }
unit_is_active() {
  if unit_was_read "$1"; then
    case $gpuadm_unit in *"ActiveState=active$gpuadm_newline"*) return 0 ;; esac
  fi
  systemctl is-active --quiet "$1"
}
# unit_is_enabled UNIT: at boot.
unit_is_enabled() {
  if unit_was_read "$1"; then
    case $gpuadm_unit in *"UnitFileState=enabled$gpuadm_newline"*) return 0 ;; esac
  fi
  systemctl is-enabled --quiet "$1"
}
# unit_was_read UNIT: sets gpuadm_unit to its lines. A block starts with the Id.
unit_was_read() {
  case $gpuadm_newline${gpuadm_units:-} in *"${gpuadm_newline}Id=$1$gpuadm_newline"*) ;; *) return 1 ;; esac
  gpuadm_unit=$gpuadm_newline$gpuadm_units
  gpuadm_unit=${gpuadm_unit#*"${gpuadm_newline}Id=$1$gpuadm_newline"}
  gpuadm_unit=${gpuadm_unit%%"$gpuadm_newline$gpuadm_newline"*}$gpuadm_newline
}

# --- The lock: two runs on one host exclude each other -----------------------------------------------
# lock/owner: run, client machine, user and process. lock/program: pid and start time of the program that is running here. lock/beat: uptime
# in seconds at the owner's last heartbeat. A lock is alive while its program is running or its last heartbeat is less than 90s old.

process_start() { awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null; }

lock_program_runs() {
  [ -f "$gpuadm_lock/program" ] || return 1
  read -r gpuadm_pid gpuadm_start <"$gpuadm_lock/program" || return 1
  [ -n "$gpuadm_pid" ] && [ "$(process_start "$gpuadm_pid")" = "$gpuadm_start" ]
}

lock_beat() { uptime_seconds >"$gpuadm_lock/beat"; }

# lock_holder: sets gpuadm_holder to the owner's line of the lock; empty: none.
lock_holder() {
  gpuadm_holder=
  [ ! -f "$gpuadm_lock/owner" ] || IFS= read -r gpuadm_holder <"$gpuadm_lock/owner" || :
}
# lock_line: the owner's line of this run.
lock_line() { printf '%s\n' "$gpuadm_run $gpuadm_client $gpuadm_owner"; }
# lock_is_held: whether this run holds the lock. The whole line counts: runs of older versions that began in the same second in two
# containers can have the same id.
lock_is_held() {
  lock_holder
  [ "$gpuadm_holder" = "$(lock_line)" ]
}

# lock_enter: verifies that this run holds the lock, and records this program as the running one.
lock_enter() {
  if ! lock_is_held; then
    say "this run no longer holds the lock of the host${gpuadm_holder:+: ${gpuadm_holder%% *} holds it}"
    exit 97
  fi
  printf '%s %s\n' "$$" "$(process_start $$)" >"$gpuadm_lock/program"
  rm -f "$gpuadm_journal/touched" # of a step that was killed
  lock_beat
}
lock_leave() {
  rm -f "$gpuadm_lock/program"
  lock_beat
}
# lock_release: releases the lock of this run. Exit status 5: a program of it is still running, because a program outlives its connection:
# no other run may start until it has ended.
lock_release() {
  lock_is_held || exit 0
  ! lock_program_runs || exit 5
  rm -rf "$gpuadm_lock"
  rmdir "$gpuadm_journal/blobs" "$gpuadm_journal" "$gpuadm_home" 2>/dev/null || :
}

# --- Steps: step_check and step_apply are defined after this -----------------------------------------
# Exit status: 100 satisfied, 101 changed, 102 apply failed, 103 still needed after apply, 104 check failed, 105 the host must be
# rebooted, 108 a wait continues, 109 a wait is hopeless, 97 no lock.
# None of the commands is part of a condition, because sh would disable `set -e` inside it.

# say_full_disks: prints the file systems to which steps write and that have no space or inodes left.
say_full_disks() {
  for gpuadm_where in / /etc /etc/kubernetes /etc/containerd /etc/docker /usr /usr/bin /opt /var /var/lib "$gpuadm_home" /var/lib/kubelet /var/lib/containerd /var/lib/docker \
    /var/lib/etcd /run /tmp; do
    limit_of 5 df -P "$gpuadm_where" 2>/dev/null || :
    limit_of 5 df -P -i "$gpuadm_where" 2>/dev/null || :
  done | awk '$5 == "100%" && !seen[$6]++ { print "the disk of " $6 " is full: free disk space, then run again" }' >&2
}

step_end() {
  gpuadm_status=$1
  (journal_close) || gpuadm_status=102
  case $gpuadm_status in 102 | 103 | 104 | 109) say_full_disks ;; esac
  lock_leave
  exit "$gpuadm_status"
}

# step_finish STATUS: called after an apply that exited with it.
step_finish() {
  if [ "$1" -ne 0 ]; then
    say "(exit status $1)"
    step_end 102
  fi
  (
    set -eu
    request_again=60
    step_check
  ) </dev/null
  gpuadm_rc=$?
  [ "$gpuadm_rc" -ne 0 ] || step_end 101
  [ "$gpuadm_rc" -eq 1 ] || step_end 103
  (
    set -eu
    step_needs_reboot
  ) </dev/null >/dev/null
  gpuadm_rc=$?
  [ "$gpuadm_rc" -ne 0 ] || step_end 105
  step_end 103
}

step_run() {
  lock_enter
  (
    set -eu
    step_check
  ) </dev/null
  gpuadm_rc=$?
  case $gpuadm_rc in
    0) step_end 100 ;;
    1) ;;
    *) step_end 104 ;;
  esac
  (
    set -eu
    request_again=60
    step_apply
  ) </dev/null >&2
  step_finish $?
}

# The bundle file is on stdin.
step_upload() {
  lock_enter
  (
    set -eu
    request_again=60
    step_apply
  ) >&2
  step_finish $?
}

# step_wait: polls the check for $gpuadm_round seconds; then the runner reports its output and runs this program again, until the
# step's timeout ($gpuadm_last is "yes" in the last round). $gpuadm_waited: the seconds of earlier rounds. Exit status 108: not yet.
step_wait() {
  lock_enter
  gpuadm_began=$(($(uptime_seconds) - gpuadm_waited))
  gpuadm_end=$(($(uptime_seconds) + gpuadm_round))
  while :; do
    gpuadm_waited=$(($(uptime_seconds) - gpuadm_began))
    gpuadm_said=$(
      set -eu
      step_check </dev/null 2>&1
    )
    gpuadm_rc=$?
    [ "$gpuadm_rc" -ne 0 ] || step_end 100
    if [ "$gpuadm_rc" -eq "$gpuadm_hopeless" ]; then
      say "$gpuadm_said"
      step_end 109
    fi
    if [ "$(uptime_seconds)" -ge "$gpuadm_end" ]; then
      say "$gpuadm_said"
      [ "$gpuadm_last" != yes ] || step_end 102
      step_end 108
    fi
    sleep 0.5
  done
}

# --- Reboots -----------------------------------------------------------------------------------------

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# reboot_order: reboots the host, and prints the ID of the current boot. For $gpuadm_timeout seconds its lock counts as alive. Exit
# status 106: gpuadm itself runs on this machine. 107: the same, and the run resumes automatically after a manual reboot.
reboot_order() {
  lock_enter
  gpuadm_boot=$(boot_id) || die "cannot read /proc/sys/kernel/random/boot_id, so it is unknown whether gpuadm runs on this host: reboot it, then run again"
  if runs_here; then
    gpuadm_rc=106
    [ -z "$gpuadm_resume" ] || ! has_its_machine_id || ! resume_can || { resume_put && gpuadm_rc=107; }
    lock_leave
    exit "$gpuadm_rc"
  fi
  printf '%s\n' "$(($(date +%s) + gpuadm_timeout))" >"$gpuadm_lock/reboot"
  printf '%s\n' "$gpuadm_boot"
  sync
  # The delay lets the output reach the client.
  (sleep 1 && { systemctl reboot || reboot; }) >/dev/null 2>&1 </dev/null &
  lock_leave
}

# runs_here: whether gpuadm runs on this machine, or in a container on it: clones have the same machine ID, but another boot ID. The
# machine ID decides if the boot ID on gpuadm's side is unknown, and whether a program on gpuadm's side is also one of this host.
runs_here() {
  if [ -n "$gpuadm_client_boot" ]; then [ "$gpuadm_client_boot" = "$gpuadm_boot" ]; else has_its_machine_id; fi
}
has_its_machine_id() { [ "$(cat /etc/machine-id 2>/dev/null)" = "$gpuadm_client" ]; }

# resume_can: sudo must not ask for a password, because no user is present at boot.
resume_can() {
  have systemctl && have runuser || return 1
  [ "$gpuadm_resume_user" = root ] || runuser -u "$gpuadm_resume_user" -- sudo -n -k true >/dev/null 2>&1
}
# resume_put: configures the next boot to run the program $gpuadm_resume, once.
resume_put() {
  (umask 077 && printf '%s' "$gpuadm_resume" >"$gpuadm_home/resume.new") || return 1
  sync "$gpuadm_home/resume.new" 2>/dev/null || :
  mv -f "$gpuadm_home/resume.new" "$gpuadm_home/resume"
  content="[Unit]
Description=Resume the gpuadm run after the reboot
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/bin/sh $gpuadm_home/resume

[Install]
WantedBy=multi-user.target
"
  base_sha256=
  file_put /etc/systemd/system/gpuadm-resume.service 0644 || return 1
  journal_unit gpuadm-resume.service
  systemctl enable --quiet gpuadm-resume.service
}

# reboot_look: prints the current boot ID. If it differs from $gpuadm_boot, it first waits until the services have started and the
# local API server, if any, responds.
reboot_look() {
  gpuadm_now=$(boot_id)
  if [ "$gpuadm_now" != "$gpuadm_boot" ]; then
    in_time 120 boot_is_complete || : "what still starts is not waited for"
    lock_enter
    rm -f "$gpuadm_lock/reboot"
    in_time "$((gpuadm_timeout - 130))" api_server_answers || die "the API server does not respond after the reboot: run journalctl -u kubelet"
    lock_leave
  fi
  printf '%s\n' "$gpuadm_now"
}
boot_is_complete() { case $(systemctl is-system-running 2>/dev/null) in initializing | starting) return 1 ;; esac }
# The API server of this host, if it has one: kubeadm configures the controller manager to use only that one.
api_server_answers() {
  [ -f /etc/kubernetes/manifests/kube-apiserver.yaml ] || return 0
  kubectl --kubeconfig /etc/kubernetes/controller-manager.conf --request-timeout=5s get --raw /healthz >/dev/null 2>&1
}
