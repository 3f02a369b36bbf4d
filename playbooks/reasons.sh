# shellcheck shell=sh disable=SC2154,SC2034
# Collects why the containers or the kubelet of a node do not run. playbooks/probe.sh calls it on request (reasons=yes). On a
# healthy node it sends one request to the container runtime; logs are read only for containers that do not run. The output is
# described in docs/reference/probe.md.

reasons_are_here=yes

# Log lines of a container that name an error, for any program.
LOG_ERRORS='unknown flag|unknown shorthand|flag provided but not defined|[Ee]rror|ERROR|[Ff]atal|FATAL|[Pp]anic|^F[0-9]|^E[0-9]|no space left|too many open files|permission denied|address already in use|no such file|cannot |refused|invalid'
# Log lines of the kubelet: the reason of its exit, and errors of pods that it cannot start.
KUBELET_ERRORS='unknown flag|unknown shorthand|ailed to (run|parse|load|construct|validate)|nvalid configuration|running with swap|cgroup v1|cgroup driver|^F[0-9]|^panic|^Error|^[Ff]ailed|Error syncing pod|too many open files|inotify|no space left|failed to find plugin|cni plugin not init|cni config uninit|process (manifest|config) file|[Ee]viction manager: |Main process exited|^Stopped kubelet'
RUNTIME_ERRORS='no space left|too many open files|inotify|failed to find plugin|failed to setup network|failed to pull|PullImage .* failed|failed to get sandbox image|[Ee]rror pulling|ailed to pull image|cgroupsPath'

# newest COUNT REGEX: the last matching lines of stdin; of repeated messages only the last is kept.
newest() {
  awk -v most="$1" -v re="$2" '
    $0 ~ re {
      line = substr($0, 1, 2000)
      key = line
      sub(/^[A-Z][0-9]+ [0-9:.]+ +[0-9]+ /, "", key)
      gsub(/time="[^"]*"/, "", key)
      if (key in at) kept[at[key]] = ""
      at[key] = n
      kept[n++] = line
    }
    END {
      for (i = n - 1; i >= 0 && shown < most; i--) if (kept[i] != "") { shown++; first = i }
      for (i = first + 0; i < n; i++) if (kept[i] != "") print kept[i]
    }'
}

# errors_in SECTION UNIT REGEX SINCE: the newest 40 lines of the unit's journal that name an error, with journalctl's exit status.
errors_in() {
  journal=$(limit 5 journalctl -u "$2" --since="$4" -n 4000 -o cat -q --no-pager 2>/dev/null)
  journal_status=$?
  frame "$1" "$(printf '%s\n' "$journal" | newest 40 "$3")" "$journal_status"
}

# --- Containers: "ID NAMESPACE POD CONTAINER ATTEMPT STATE EXIT REASON MESSAGE", separated by tabs ---------------------
#
# A container that fails again and again runs for a second or two of each round. One that was started in the last minute, less than six
# minutes (the kubelet waits five at most) after an attempt that failed, is therefore "restarting", with how that attempt ended.

# crictl prints one JSON key per line; the closing brace of a container is indented by four blanks.
containers_by_crictl() {
  crictl_says=$(limit 8 crictl -t 5s -r "unix://$1" ps -a -o json 2>/dev/null) || return 1
  printf '%s\n' "$crictl_says" | awk -v now="$(date +%s)" '
    function value(s) {
      sub(/^[^:]*: */, "", s)
      sub(/,$/, "", s)
      gsub(/^"|"$/, "", s)
      return s
    }
    /^      "id":/ { id = value($0) }
    /^      "state":/ { state = tolower(substr(value($0), 11)) }
    /^      "createdAt":/ { made = value($0) }
    /"io.kubernetes.container.name":/ { name = value($0) }
    /"io.kubernetes.pod.name":/ { pod = value($0) }
    /"io.kubernetes.pod.namespace":/ { namespace = value($0) }
    /"io.kubernetes.container.restartCount":/ { attempt = value($0) }
    /^    }/ {
      key = namespace "\t" pod "\t" name
      if (pod != "" && (!(key in newest) || made > newest[key])) {
        before[key] = newest[key]
        failed[key] = ids[key]
        newest[key] = made
        ids[key] = id
        attempts[key] = attempt + 0
        states[key] = state
      } else if (pod != "" && made > before[key]) {
        before[key] = made
        failed[key] = id
      }
      id = state = made = name = pod = namespace = ""
      attempt = 0
    }
    function seconds(nanoseconds) { return substr(nanoseconds, 1, length(nanoseconds) - 9) + 0 }
    END {
      for (key in ids) {
        begun = seconds(newest[key])
        if (states[key] == "running" && before[key] != "" && now - begun < 60 && begun - seconds(before[key]) < 360)
          print failed[key] "\t" key "\t" attempts[key] "\trestarting"
        else print ids[key] "\t" key "\t" attempts[key] "\t" states[key]
      }
    }' | sort -k 2 | awk 'NR <= 512' |
    while IFS="$tab" read -r id namespace pod name attempt state; do
      exit_code='' why='' message=''
      case $state in exited | restarting) look=yes ;; *) look='' ;; esac
      if [ -n "$look" ] && [ "${inspected:=0}" -lt 12 ]; then
        inspected=$((inspected + 1))
        ended=$(limit 5 crictl -t 3s -r "unix://$1" inspect "$id" 2>/dev/null | awk '
          function value(s) { sub(/^[^:]*: */, "", s); sub(/,$/, "", s); gsub(/^"|"$/, "", s); gsub(/\\[nt]/, " ", s); return s }
          /^    "exitCode":/ { code = value($0) }
          /^    "reason":/ { why = value($0) }
          /^    "message":/ { message = value($0) }
          END { print code "\t" (why == "" ? "-" : why) "\t" substr(message, 1, 1000) }')
        exit_code=${ended%%"$tab"*} ended=${ended#*"$tab"}
        why=${ended%%"$tab"*} message=${ended#*"$tab"}
      fi
      # It ended well, or with the machine.
      case $state/$exit_code/$why in restarting/0/* | restarting//* | restarting/*/Unknown) state=running exit_code='' why='' message='' ;; esac
      row "$id" "$namespace" "$pod" "$name" "$attempt" "$state" "$exit_code" "$why" "$message"
    done
}

# Without crictl, the names of running containers are read from their OCI configuration, those of others from their labels, and the
# exit reason from the state of containerd's CRI plugin.
containers_by_ctr() {
  ctr_says=$(limit 5 ctr --timeout 4s -n k8s.io tasks ls 2>/dev/null) || return 1
  running=$(printf '%s\n' "$ctr_says" | awk 'NR > 1 && $3 == "RUNNING" { print $1 }')
  all=$(limit 5 ctr --timeout 4s -n k8s.io containers ls -q 'labels."io.cri-containerd.kind"==container' 2>/dev/null) || return 1
  asked=0
  for id in $all; do
    case $id in *[!0-9a-zA-Z]*) continue ;; esac
    configuration=/run/containerd/io.containerd.runtime.v2.task/k8s.io/$id/config.json
    case "$newline$running$newline" in
      *"$newline$id$newline"*) state=running ;;
      *) state=exited ;;
    esac
    if [ "$state" = running ] && [ -r "$configuration" ]; then
      names=$(sed 's/"io\.kubernetes\.cri\./\n&/g' "$configuration" | awk -F '"' '
        $2 == "io.kubernetes.cri.container-name" { name = $4 }
        $2 == "io.kubernetes.cri.sandbox-name" { pod = $4 }
        $2 == "io.kubernetes.cri.sandbox-namespace" { namespace = $4 }
        END { print namespace "\t" pod "\t" name }')
    else
      asked=$((asked + 1))
      [ "$asked" -le 40 ] || continue
      names=$(limit 3 ctr --timeout 2s -n k8s.io containers info "$id" 2>/dev/null | awk -F '"' '
        $2 == "io.kubernetes.container.name" { name = $4 }
        $2 == "io.kubernetes.pod.name" { pod = $4 }
        $2 == "io.kubernetes.pod.namespace" { namespace = $4 }
        END { print namespace "\t" pod "\t" name }')
    fi
    case $names in "$tab"* | *"$tab") continue ;; esac
    restarts=$(restarts_of "$names")
    kept=/var/lib/containerd/io.containerd.grpc.v1.cri/containers/$id/status
    [ -r "$kept" ] || kept=/dev/null
    {
      cat "$kept"
      echo
    } | awk -v id="$id" -v names="$names" -v state="$state" -v restarts="$restarts" '
        function text(key,    s) {
          if (!match($0, "\"" key "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
          s = substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5)
          gsub(/\\[nt]/, " ", s)
          gsub(/\\"/, "\"", s)
          return s
        }
        function number(key,    s) {
          if (!match($0, "\"" key "\":-?[0-9]+")) return ""
          return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
        }
        NR == 1 {
          if (state == "exited" && $0 != "" && number("FinishedAt") + 0 == 0) state = "created"
          code = state == "exited" ? number("ExitCode") : ""
          why = state == "exited" ? text("Reason") : ""
          print number("CreatedAt") "\t" id "\t" names "\t" restarts "\t" state "\t" code "\t" (why == "" ? "-" : why) "\t" substr(text("Message"), 1, 1000)
        }'
  done | awk -F "$tab" -v OFS="$tab" -v now="$(date +%s)" '
    # Numbers of nanoseconds exceed the precision of awk: if they have the same length, they are compared as text.
    {
      key = $3 OFS $4 OFS $5
      time = $1
      sub(/^[^\t]*\t/, "")
      if (!(key in made) || time "" > made[key] "") {
        before[key] = made[key]
        failed[key] = row[key]
        made[key] = time
        row[key] = $0
      } else if (time "" > before[key] "") {
        before[key] = time
        failed[key] = $0
      }
    }
    function seconds(nanoseconds) { return substr(nanoseconds, 1, length(nanoseconds) - 9) + 0 }
    END {
      for (key in row) {
        begun = seconds(made[key])
        split(row[key], cell)
        n = split(failed[key], last)
        if (cell[6] == "running" && before[key] != "" && now - begun < 60 && begun - seconds(before[key]) < 360 && last[7] + 0 != 0 && last[8] != "Unknown")
          print cell[1], key, cell[5], "restarting", last[7], last[8], last[9]
        else print row[key]
      }
    }' | sort -k 2 |
    while IFS= read -r text; do line "$text"; done
}

# restarts_of "NAMESPACE POD CONTAINER", separated by tabs: the highest number of a log file, because labels do not contain it.
restarts_of() {
  of_space=${1%%"$tab"*} of_name=${1##*"$tab"}
  of_pod=${1#*"$tab"}
  of_pod=${of_pod%"$tab"*} restarts=0
  for file in /var/log/pods/"$of_space"_"$of_pod"_*/"$of_name"/*.log; do
    number=${file##*/}
    number=${number%.log}
    case $number in '' | *[!0-9]* | ??????*) continue ;; esac
    [ "$number" -le "$restarts" ] || restarts=$number
  done
  echo "$restarts"
}

# "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT" and "Exited (1) 3 minutes ago".
containers_by_docker() {
  docker_says=$(limit 8 docker ps -a --no-trunc --filter name=k8s_ --format '{{.ID}} {{.Names}} {{.Status}}' 2>/dev/null) || return 1
  printf '%s\n' "$docker_says" | awk -v OFS='\t' '
    split($2, part, "_") >= 6 && part[2] != "POD" {
      key = part[4] OFS part[3] OFS part[2]
      state = $3 == "Up" ? "running" : $3 == "Created" ? "created" : "exited"
      code = ""
      if (match($0, /\([0-9]+\)/) && state == "exited") code = substr($0, RSTART + 1, RLENGTH - 2)
      # "Exited (1) 9 seconds ago", "Exited (1) About a minute ago", "Exited (1) 5 minutes ago"
      if (code + 0 != 0 && (/seconds? ago$/ || /a minute ago$/ || / [2-5] minutes ago$/)) failed[key] = code
      if (key in attempt && part[6] + 0 <= attempt[key]) next
      attempt[key] = part[6] + 0
      # "Up 3 seconds", "Up Less than a second"
      fresh[key] = state == "running" && (/Up [0-9]+ seconds?$/ || /Up Less than a second$/)
      ids[key] = $1
      states[key] = state
      codes[key] = code
    }
    END {
      for (key in ids) {
        if (fresh[key] && key in failed) { states[key] = "restarting"; codes[key] = failed[key] }
        print ids[key], key, attempt[key], states[key], codes[key], "-", ""
      }
    }' | sort -k 2 | awk 'NR <= 512' |
    while IFS= read -r text; do line "$text"; done
}

# If no runtime responds, the logs in /var/log/pods are listed: NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log.
containers_by_files() {
  for folder in /var/log/pods/*_*_*/*/; do
    [ -d "$folder" ] || continue
    folder=${folder%/}
    name=${folder##*/} pod=${folder%/*}
    pod=${pod##*/}
    namespace=${pod%%_*} pod=${pod#*_}
    pod=${pod%_*}
    row - "$namespace" "$pod" "$name" 0 unknown
  done | awk 'NR <= 128'
}

row() {
  text=$1
  shift
  for cell in "$@"; do text="$text$tab$cell"; done
  line "$text"
}

# --- Logs ----------------------------------------------------------------------------------------------------------------

# log_of NAMESPACE POD CONTAINER N: errors in the N-th newest log of a container and its last lines, without the runtime's prefix
# ("2026-11-24T16:35:40.1Z stderr F ", or Docker's JSON). The kubelet may have started the next attempt in the meantime: an empty log is
# passed over.
log_of() {
  # shellcheck disable=SC2012 # names of Kubernetes; of a pod that was made again under its name the newest folder counts
  log_file=$(ls -t /var/log/pods/"$1"_"$2"_*/"$3"/[0-9]*.log 2>/dev/null | tail -n "+$4" | while IFS= read -r log_file; do
    [ ! -s "$log_file" ] || { printf '%s' "$log_file" && break; }
  done)
  [ -n "$log_file" ] || return 0
  section "container-log/$1/$2/$3"
  limit 3 tail -c 65536 "$log_file" 2>/dev/null | awk -v re="$LOG_ERRORS" '
    {
      sub(/^[0-9-]+T[0-9:.]+(Z|[+-][0-9:]+) (stdout|stderr) [FP] /, "")
      if (sub(/^{"log":"/, "")) { sub(/","stream":.*/, ""); gsub(/\\n$/, ""); gsub(/\\"/, "\""); gsub(/\\t/, " ") }
      text = substr($0, 1, 1000)
      if (text ~ re && text !~ /^ +-/) { wrong[w % 12] = NR; w++ }
      all[NR % 2048] = text
    }
    END {
      for (i = w > 12 ? w - 12 : 0; i < w; i++) show[wrong[i % 12]] = 1
      for (i = NR > 2048 ? NR - 2047 : 1; i <= NR; i++) if ((i in show || i > NR - 8) && all[i % 2048] != "") print "| " all[i % 2048]
    }'
}

# --- Inotify ---------------------------------------------------------------------------------------------------------------

# Whether another instance can be created, and the number of instances of root that /proc shows.
inotify_now() {
  section inotify
  has find || return 0
  # tail reports it on a file system for which it uses inotify; it exits immediately, because no such process exists.
  # Users may write to folders such as /run/lock.
  file=$(limit 2 find /run -maxdepth 2 -type f -uid 0 ! -name '*[!a-zA-Z0-9._-]*' -size +0 -size -64k 2>/dev/null | head -n 1)
  if [ -n "$file" ] && has tail; then
    answer=$(limit 2 tail -n 0 -s 0.1 --pid=4194305 -f "$file" 2>&1 >/dev/null | head -n 1)
    case $answer in *inotify*) line refused "$answer" ;; esac
  fi
  line instances "$(limit 5 find /proc/[0-9]*/fd -lname 'anon_inode:inotify' 2>/dev/null | wc -l)"
}

# --- Main program ----------------------------------------------------------------------------------------------------------

kubelet_now() {
  has systemctl || return 0
  quiet kubelet-state 3 systemctl show kubelet.service -p ActiveState,SubState,Result,NRestarts,ExecMainStatus,ActiveEnterTimestampMonotonic
}

node_reasons() {
  for file in /etc/kubernetes/manifests/*.yaml /etc/kubernetes/kubelet.conf /var/lib/kubelet/config.yaml; do
    [ -e "$file" ] && break
  done
  [ -e "$file" ] || return 0
  tab=$(printf '\t')
  state=$(kubelet_now)
  source='' containers=''
  if has crictl; then
    for socket in /run/containerd/containerd.sock /run/crio/crio.sock /run/cri-dockerd.sock; do
      [ -z "$source" ] && [ -S "$socket" ] && containers=$(containers_by_crictl "$socket") && source=crictl
    done
  fi
  if [ -z "$source" ] && has docker && [ -S /run/docker.sock ] && [ -e /run/docker.pid ]; then
    containers=$(containers_by_docker) && [ -n "$containers" ] && source=docker
  fi
  if [ -z "$source" ] && has ctr && [ -S /run/containerd/containerd.sock ]; then
    containers=$(containers_by_ctr) && source=ctr
  fi
  [ -n "$source" ] || { containers=$(containers_by_files) source=files; }
  section pod-containers
  line "source $source"
  [ -z "$containers" ] || printf '%s\n' "$containers"
  printf '%s\n' "$state"
  printf '%s\n%s\n' "$state" "$containers" | all_runs && return 0
  since=-320s # the kubelet waits at most 300s before it retries an image
  case $state in *ActiveState=active*) ;; *) since=-1d ;; esac
  section kubelet-pods
  for folder in /var/lib/kubelet/pods/*/; do
    folder=${folder%/}
    [ -d "$folder" ] && line "${folder##*/}"
  done | awk 'NR <= 1024'
  errors_in kubelet-errors kubelet.service "$KUBELET_ERRORS" "$since"
  for unit in containerd docker crio; do
    [ ! -e "/run/$unit" ] || errors_in "runtime-errors/$unit" "$unit.service" "$RUNTIME_ERRORS" -320s
  done
  inotify_now
  # Static pods first, then sorted by name.
  printf '%s\n' "$containers" | awk -F "$tab" '
    $6 == "exited" && $7 != "0" || $6 == "unknown" || $6 == "restarting" || $6 == "exited" && static($2, $3) {
      print (static($2, $3) ? 0 : 1) FS $2 FS $3 FS $4 FS ($6 == "restarting" ? 2 : 1)
    }
    function static(namespace, pod) { return namespace == "kube-system" && pod ~ /^(etcd|kube-(apiserver|controller-manager|scheduler|vip))-/ }' |
    sort | awk 'NR <= 8' | while IFS="$tab" read -r _ namespace pod name nth; do
    log_of "$namespace" "$pod" "$name" "$nth"
  done
}

# all_runs: whether the kubelet has been running for a minute, every static pod runs, no container has failed, and every pod for
# which the kubelet has a folder has a container.
all_runs() {
  awk -F "$tab" -v now="$(cut -d ' ' -f 1 /proc/uptime 2>/dev/null)" '
    /^\| ActiveState=active$/ { active = 1 }
    /^\| ActiveEnterTimestampMonotonic=/ { split($0, part, "="); up = now - part[2] / 1000000 }
    NF >= 6 && $6 == "running" { runs++; pods[$2 "/" $3] = 1 }
    NF >= 6 && $6 != "running" && !($6 == "exited" && $7 == "0") { broken++ }
    END { exit !(active && up >= 60 && runs > 0 && !broken) }' || return 1
  for file in /etc/kubernetes/manifests/*.yaml; do
    [ -e "$file" ] || continue
    manifest=${file##*/}
    case $containers in *"$tab${manifest%.yaml}-"*"${tab}running"*) ;; *) return 1 ;; esac
  done
  # Folders of waiting pods: a pod with a container has a subfolder for it.
  for folder in /var/lib/kubelet/pods/*/; do
    [ -d "$folder" ] || continue
    for container in "$folder"containers/*/; do [ -d "$container" ] && continue 2; done
    return 1
  done
  return 0
}
