# shellcheck shell=sh disable=SC2034
# Output functions of the scripts that only read hosts: playbooks/probe.sh, cluster.sh and support.sh. gpuadm sends this file and
# one of them as one program, as it sends playbooks/prelude.sh before a step; a script that is run manually loads this file from its
# own folder. The format is described in docs/reference/probe.md: "=== name" starts a section, "| " is a line of it, "? " ends it
# with the exit status of its command, and "! cut" marks truncated output. Only awk is required.
frame_is_here=yes

# Maximum size of a section, and of one of its lines, in bytes.
MOST=65536
LONGEST=8000

# Frames the output of a command. The last line of the input is the command's status.
# shellcheck disable=SC2016
FRAME='
function put(s) {
  if (length(s) > long) s = substr(s, 1, long)
  gsub(/:\/\/[^\/@ ]*@/, "://***@", s)
  used += length(s) + 3
  if (used > max) { print "! cut"; cut = 1; exit }
  print "| " s
}
BEGIN { print "=== " name }
keep != "" && $0 !~ keep && $0 !~ /^[0-9]+$/ { next }
skip != "" && $0 ~ skip { skipping = 1 }
skipping { if ($0 ~ until) skipping = 0; next }
{ if (n > 1) put(held); held = last; last = $0; n++ }
END {
  if (cut) exit
  if (n > 1 && held != "") put(held)
  if (!cut) print "? " last
}'

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

# framed NAME OPTION…: a section with a program's output from stdin; the last line is its status. The options set FRAME's awk
# variables: keep (a regex of the lines to keep), skip and until (the first and last line of a range to omit), max, long.
framed() {
  framed=$1
  shift
  awk -v name="$framed" -v max="$MOST" -v long="$LONGEST" "$@" "$FRAME"
}

# run NAME SECONDS COMMAND…: a section with the command's stdout and stderr.
run() {
  name=$1
  shift
  {
    limit "$@" 2>&1
    printf '\n%s\n' "$?"
  } | framed "$name"
}

# quiet NAME SECONDS COMMAND…: the same without stderr.
quiet() {
  name=$1
  shift
  {
    limit "$@" 2>/dev/null
    printf '\n%s\n' "$?"
  } | framed "$name"
}

# kept NAME REGEX SECONDS COMMAND…: the same with only the matching lines.
kept() {
  name=$1 keep=$2
  shift 2
  {
    limit "$@" 2>/dev/null
    printf '\n%s\n' "$?"
  } | framed "$name" -v keep="$keep"
}

# frame NAME TEXT STATUS: the same for output that was already read.
frame() {
  printf '%s\n%s\n' "$2" "$3" | framed "$1"
}
