# shellcheck shell=sh disable=SC2030,SC2031,SC2034
# Output functions of the scripts that only read hosts: playbooks/probe.sh, cluster.sh and support.sh. gpuadm sends this file and
# one of them as one program, as it sends playbooks/prelude.sh before a step; a script that is run manually loads this file from its
# own folder. The format is described in docs/reference/probe.md: "=== name" starts a section, "| " is a line of it, "? " ends it
# with the exit status of its command, and "! cut" marks truncated output. Only awk is required.
frame_is_here=yes

# Maximum size of a section, and of one of its lines, in bytes.
MOST=65536
LONGEST=8000

# Frames the outputs of programs, all of a script in one process. What belongs to which section is said by lines that begin with the first line of
# the input, a random word that no output can contain. The last line of a section is the status of its program. Other lines stay as they are.
# shellcheck disable=SC2016
FRAME='
function put(s) {
  if (cut) return
  if (length(s) > option["long"] + 0) s = substr(s, 1, option["long"])
  gsub(/:\/\/[^\/@ ]*@/, "://***@", s)
  used += length(s) + 3
  if (used > option["max"] + 0) { print "! cut"; cut = 1; return }
  print "| " s
}
function take(s) {
  if (option["keep"] != "" && s !~ option["keep"] && s !~ /^[0-9]+$/) return
  if (option["skip"] != "" && s ~ option["skip"]) skipping = 1
  if (skipping) { if (s ~ option["until"]) skipping = 0; return }
  if (n > 1) put(held)
  held = last; last = s; n++
}
function obey(word, value) {
  if (word == "open") {
    print "=== " value
    split("", option)
    held = last = ""
    n = used = cut = skipping = 0
    is_open = 1
  } else if (word == "close") {
    if (n > 1 && held != "") put(held)
    if (!cut) print "? " last
    is_open = 0
  } else option[word] = value
}
NR == 1 { mark = $0 " "; width = length(mark); next }
substr($0, 1, width) == mark { obey($2, substr($0, width + length($2) + 2)); next }
is_open { take($0); next }
{ print }'

if timeout -k 1 5 true 2>/dev/null; then
  limit() { timeout -k 5 "$@"; }
else
  limit() {
    seconds=$1
    shift
    "$@" &
    child=$!
    (
      sleep "$seconds"
      kill "$child"
      sleep 5
      kill -9 "$child"
    ) >/dev/null 2>&1 &
    watch=$!
    wait "$child"
    status=$?
    kill "$watch" 2>/dev/null
    return "$status"
  }
fi

has() { command -v "$1" >/dev/null 2>&1; }
section() { printf '=== %s\n' "$1"; }
newline='
'
line() {
  case $* in *"$newline"*) return ;; esac
  printf '| %s\n' "$*"
}

# Words of a line that reports an error, of any program.
ERRORS='^[EFW][0-9]|[Ee]rror|ERR|[Ff]ail|FAIL|[Ff]atal|FATAL|[Pp]anic|[Dd]en[iy]|DENIED|[Rr]efus|[Rr]eject|[Uu]nable|[Cc]annot|[Cc](an|ould).t |[Nn]ot (found|support|permit|allow|enough)|[Nn]o such|[Ii]nvalid|[Tt]im(ed|e) ?out|TIMEOUT|WARN|[Ww]arning|[Ee]xceed|[Ee]xhaust|[Uu]nknown|[Mm]issing|[Ee]xpired|[Mm]ismatch|[Uu]nexpected|[Cc]orrupt|[Aa]bort|[Kk]illed|[Cc]onflict|too (many|old|new|long|large)|already|[Oo]ut of'

# last_lines MOST KNOWN: of a log from stdin, at most MOST lines in their order. A pattern ranks lines and drops none: first the last lines
# before the end of the program, which systemd reports, and of the log; then those that match KNOWN; then other errors (ERRORS). The
# newest come first; of repeated messages only the last is kept.
last_lines() {
  awk -v most="$1" -v known="$2" -v errors="$ERRORS" '
    function informs(s) { return s ~ /^[ID][0-9][0-9]|level=(info|debug)|"level":"(info|debug)"|[[](INFO|DEBUG)[]]|^[[:space:]]+-/ }
    function ends(s) { return s ~ /Main process exited|^Stopped / }
    function window(from, least, last,    i) {
      for (i = from; i >= 0 && (least > 0 || last > 0); i--) {
        if (kept[i] == "" || ends(kept[i])) continue
        if (last-- > 0 || (least > 0 && !informs(kept[i]))) rank[i] = 1
        if (!informs(kept[i])) least--
      }
    }
    BEGIN { n = 0 }
    $0 !~ /^[[:space:]]*$/ {
      line = substr($0, 1, 2000)
      key = line
      sub(/^[A-Z][0-9]+ [0-9:.]+ +[0-9]+ /, "", key)
      gsub(/time="[^"]*"/, "", key)
      if (key in at) kept[at[key]] = ""
      at[key] = n
      kept[n++] = line
    }
    END {
      for (end = n - 1; end >= 0 && !ends(kept[end]); end--);
      if (end >= 0) window(end - 1, 8, 3)
      window(n - 1, 8, 3)
      for (i = 0; i < n; i++) {
        if (kept[i] == "") continue
        if (ends(kept[i])) rank[i] = 1
        else if (!(i in rank) && known != "" && kept[i] ~ known) rank[i] = 2
        else if (!(i in rank) && !informs(kept[i]) && kept[i] ~ errors) rank[i] = 3
      }
      for (class = 1; class <= 3; class++)
        for (i = n - 1; i >= 0 && most > 0; i--)
          if (rank[i] == class) { show[i] = 1; most-- }
      for (i = 0; i < n; i++) if (i in show) print kept[i]
    }'
}

# sections COMMAND…: frames all sections that a command prints with the functions below.
sections() {
  { IFS= read -r frame_word </proc/sys/kernel/random/uuid && [ ${#frame_word} = 36 ]; } || { echo "cannot read /proc/sys/kernel/random/uuid" >&2 && return 1; }
  {
    frame_mark=$frame_word
    printf '%s\n' "$frame_mark"
    "$@"
  } | awk "$FRAME"
}

# open_section NAME OPTION…: what follows until close_section is framed. The options: keep=REGEX of the lines to keep, skip=REGEX and
# until=REGEX of the first and last line of a range to omit, max=BYTES, long=BYTES.
open_section() {
  printf '%s\n' "$frame_mark open $1" "$frame_mark max $MOST" "$frame_mark long $LONGEST"
  shift
  for option in "$@"; do printf '%s\n' "$frame_mark ${option%%=*} ${option#*=}"; done
}

# close_section STATUS
close_section() { printf '\n%s\n%s close\n' "$1" "$frame_mark"; }

# succeeded TEXT: whether the section that a text ends with has the status 0.
succeeded() { case $1 in *"${newline}0$newline$frame_mark close") ;; *) return 1 ;; esac }

# together COMMAND…: runs commands of a script, each one argument, in parallel. Their outputs are whole, in reverse order; the first one's is last.
# A command that fails takes nothing from the others: their sections carry the status.
together() {
  together_first=$1
  shift
  # shellcheck disable=SC2086 # a command with its arguments
  if [ $# = 0 ]; then $together_first; else $together_first </dev/null | { together "$@"; cat; }; fi
}

# framed NAME OPTION…: a section with a program's output from stdin; the last line is its status.
framed() {
  [ -n "${frame_mark:-}" ] || { sections framed "$@" && return; }
  open_section "$@"
  cat
  printf '%s close\n' "$frame_mark"
}

# run NAME SECONDS COMMAND…: a section with the command's stdout and stderr.
run() {
  [ -n "${frame_mark:-}" ] || { sections run "$@" && return; }
  open_section "$1"
  shift
  limit "$@" 2>&1
  close_section "$?"
}

# quiet NAME SECONDS COMMAND…: the same without stderr.
quiet() {
  [ -n "${frame_mark:-}" ] || { sections quiet "$@" && return; }
  open_section "$1"
  shift
  limit "$@" 2>/dev/null
  close_section "$?"
}

# kept NAME REGEX SECONDS COMMAND…: the same with only the matching lines.
kept() {
  [ -n "${frame_mark:-}" ] || { sections kept "$@" && return; }
  open_section "$1" "keep=$2"
  shift 2
  limit "$@" 2>/dev/null
  close_section "$?"
}

# frame NAME TEXT STATUS: the same for output that was already read.
frame() {
  [ -n "${frame_mark:-}" ] || { sections frame "$@" && return; }
  open_section "$1"
  printf '%s\n%s\n%s close\n' "$2" "$3" "$frame_mark"
}
