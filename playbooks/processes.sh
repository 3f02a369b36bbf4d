# shellcheck shell=sh
# Functions that say whose a process is, loaded by the steps and scripts that look into /proc. A process chooses its own name (15 bytes of
# any value, also newlines and tabs), its command line, the names of its files, and, in a control group that is delegated to a user, the
# names of the groups below it. What decides is only what the kernel says: user ids, namespaces, the file that it runs, device numbers, and
# the whole path of its control group.
# shellcheck disable=SC2034 # other files read it
processes_is_here=yes

# Functions for awk programs. A text of /proc is read with getline, because a process can end at any time, and is joined: the name in
# /proc/PID/stat may contain newlines.
process_awk='
  function text_of(file, text, line, lines) {
    text = ""
    lines = 0
    while ((getline line <file) > 0) text = text (lines++ ? "?" : "") line
    close(file)
    return text
  }
  # In one column of one line.
  function printable(text) {
    gsub(/[\001-\037\177]/, "?", text)
    return text
  }
  function name_of(pid) { return printable(text_of("/proc/" pid "/comm")) }
  # Below the slice of a user other than root, users make groups of any name; below those of pods, containers do.
  function is_users(group, at, pods) {
    at = index(group, "/user.slice/")
    pods = index(group, "kubepods")
    return at && !(pods && pods < at) && substr(group, at + 12) !~ /^user-0\.slice/
  }
  # The line that says most of a process, with version 1 of control groups there are several: that of a user, that of a pod, that of systemd.
  function control_group(pid, file, line, rank, best, chosen) {
    file = "/proc/" pid "/cgroup"
    best = 0
    while ((getline line <file) > 0) {
      rank = is_users(line) ? 5 : line ~ /\/[^\/]*kubepods/ ? 4 : line ~ /^0::\/./ ? 3 : line ~ /^[0-9]+:name=systemd:/ ? 2 : 1
      if (rank > best) {
        best = rank
        chosen = line
      }
    }
    close(file)
    return printable(substr(chosen, 1, 1000))
  }
  # The fields after the name: the state is the first one, the start the 20th.
  function stat_fields(pid, field, text) {
    text = text_of("/proc/" pid "/stat")
    while (match(text, /\) /)) text = substr(text, RSTART + 2)
    return split(text, field, " ")
  }
  # All its user ids are 0, and it is in no pod and in no container with process numbers of its own.
  function is_roots(pid, file, line, part, roots, own) {
    file = "/proc/" pid "/status"
    own = 1
    while ((getline line <file) > 0) {
      if (line ~ /^Uid:/) roots = line ~ /^Uid:[ \t]+0[ \t]+0[ \t]+0[ \t]+0$/
      if (line ~ /^NSpid:/) own = split(line, part, /[ \t]+/) == 2
    }
    close(file)
    return roots && own && control_group(pid) !~ /kubepods/
  }
  # Root started it, and no user could have.
  function is_system(pid) { return is_roots(pid) && !is_users(control_group(pid)) }
  # A service of the system for GPUs, also under a user of its own.
  function is_service_of_gpus(pid, group) {
    group = control_group(pid)
    return !is_users(group) && group !~ /kubepods/ && group ~ /\/system\.slice\/(nvidia-persistenced|nvidia-fabricmanager|nvidia-dcgm|dcgm|nvsm)\.service$/
  }
'

# process_waiting: the processes that wait in the kernel (state D), one per line. Fails if they could not be listed. Unlike the other files of
# a process, "status" has newlines of its name as \n.
process_waiting() {
  process_found=0
  process_list=$(cd /proc && LC_ALL=C grep -ls '^State:[[:space:]]*D' [0-9]*/status 2>/dev/null) || process_found=$?
  # 1: there is none. 2: a process has ended meanwhile. More: there are too many for a command line, or grep does not exist.
  [ "$process_found" -le 2 ] || return 1
  [ -z "$process_list" ] || printf '%s\n' "$process_list" | cut -d/ -f1
}

# file_number FILE: its device number if it is a character device ("c c3:1"), otherwise the number of the file. Nothing if there is none.
file_number() { stat -L -c '%n %f %t:%T %d:%i' "$1" 2>/dev/null | awk '{ print $(NF - 2) ~ /^2[0-9a-f][0-9a-f][0-9a-f]$/ ? "c " $(NF - 1) : "f " $NF }'; }

# open_files: "PID c c3:1" of each file that a process has open, as file_number prints it, never by a name: programs can open a device
# under any name, and name other files like it. The last line is "whole" if all could be read.
open_files() {
  # Files of a server that does not answer: what is known of them suffices. Not in coreutils before 9.0.
  process_cached=
  ! stat --cached=always -c %i / >/dev/null 2>&1 || process_cached=--cached=always
  process_limit=
  ! command -v timeout >/dev/null || process_limit='timeout -k 2 40'
  {
    process_rc=0
    # shellcheck disable=SC2086 # of several words, or none
    $process_limit find /proc -mindepth 1 -maxdepth 3 '(' -path '/proc/[0-9]*/fd/*' -exec stat -L $process_cached -c '%n %f %t:%T %d:%i' '{}' + ')' \
      -o -path '/proc/[0-9]*/fd' -o -path '/proc/*/*' -prune -o -path '/proc/[0-9]*' -o -prune 2>/dev/null || process_rc=$?
    echo "end $process_rc"
  } | awk -v user="$(id -u)" '
    $1 == "end" {
      # 1: files were closed meanwhile.
      if (files && $2 <= 1 && user == 0) print "whole"
      exit
    }
    {
      files++
      split($1, part, "/")
      print part[3], $2 ~ /^2[0-9a-f][0-9a-f][0-9a-f]$/ ? "c " $3 : "f " $4
    }'
}

# nvidia_smi_waiting PROGRAM: the processes of root, in no pod and in no slice of a user, that run the host's nvidia-smi and wait in the
# kernel: "PID START USER-TIME SYSTEM-TIME" each. Without root, which file a process runs is not readable: "PID unknown" of those that have
# its name.
nvidia_smi_waiting() {
  process_smi=$(readlink -f "$1") && process_smi_is=$(stat -L -c %d:%i "$1") || return 0
  process_space=$(readlink /proc/self/ns/pid)
  process_listed=$(process_waiting) || {
    echo '0 unknown'
    return 0
  }
  [ -n "$process_listed" ] || return 0
  printf '%s\n' "$process_listed" | awk "$process_awk"'
    is_system($1) && stat_fields($1, field) > 20 && field[1] == "D" { print $1, field[20], field[12], field[13], name_of($1) }' |
    while read -r process_pid process_was process_name; do
      if process_ns=$(readlink "/proc/$process_pid/ns/pid" 2>/dev/null); then
        [ "$process_ns" = "$process_space" ] || continue
        # After an update, the file of an older one has been deleted.
        [ "$(stat -L -c %d:%i "/proc/$process_pid/exe" 2>/dev/null)" = "$process_smi_is" ] ||
          [ "$(readlink "/proc/$process_pid/exe" 2>/dev/null)" = "$process_smi (deleted)" ] || continue
        printf '%s %s\n' "$process_pid" "$process_was"
      elif [ "$process_name" = nvidia-smi ] && [ "$(id -u)" != 0 ]; then
        printf '%s unknown\n' "$process_pid"
      fi
    done
}

# nvidia_smi_hung PROGRAM: prints the process id of an nvidia-smi that hangs in the kernel and cannot be ended: another one would also hang.
# One that shows values in a loop waits for moments, so it is inspected twice. "unknown" after the id: without root,
# it is unknown whether it hangs. src/commands/operate/health/hung.cpp has the same rule. Fails if none hangs.
nvidia_smi_hung() {
  process_before=$(nvidia_smi_waiting "$1")
  [ -n "$process_before" ] || return 1
  sleep 1
  process_after=$(nvidia_smi_waiting "$1")
  process_both=$(printf '%s\n-\n%s\n' "$process_before" "$process_after" | awk '
    $0 == "-" { second = 1; next }
    !second { before[$0]; next }
    $0 in before { print $1 ($2 == "unknown" ? " unknown" : ""); exit }')
  [ -n "$process_both" ] || return 1
  printf '%s\n' "$process_both"
}
