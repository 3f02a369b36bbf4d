# shellcheck shell=sh disable=SC2154
# Functions that stand before every program gpuadm runs on a host. POSIX sh, no tool beyond coreutils and awk.
# The runner sets gpuadm_run, gpuadm_step, gpuadm_client, gpuadm_owner, gpuadm_timeout and the step's variables.

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
umask 022
gpuadm_home=/var/lib/gpuadm
gpuadm_journal=$gpuadm_home/journal
gpuadm_lock=$gpuadm_home/lock
gpuadm_tab=$(printf '\t')
# shellcheck disable=SC2034 # other files read it
gpuadm_newline='
'

# say TEXT: one line for the operator.
say() { printf '%s\n' "$*" >&2; }
# die TEXT: the reason of a failure, for the operator.
die() {
  say "$*"
  exit 3
}
have() { command -v "$1" >/dev/null 2>&1; }
# uptime_seconds: a clock that no one sets.
uptime_seconds() {
  read -r gpuadm_up _ </proc/uptime
  printf '%s\n' "${gpuadm_up%%.*}"
}
# in_time SECONDS COMMAND...: polls until it succeeds; fails when the time is up.
in_time() {
  gpuadm_until=$(($(uptime_seconds) + $1))
  shift
  until "$@"; do
    [ "$(uptime_seconds)" -lt "$gpuadm_until" ] || return 1
    sleep 0.3
  done
}
sha256_of() { sha256sum <"$1" | cut -d' ' -f1; }

# --- The journal: what a host was before gpuadm touched it -------------------------------------------
# journal/log has one line a thing and run, tab-separated: kind, name, what it was, step, run. The first line for a thing
# in a run counts. A line "+KIND" says what the run made of it; "reader", which unit reads a file.
# journal/blobs/SHA256 holds what files contained. docs/reference/journal.md

journal_open() {
  [ -d "$gpuadm_journal/blobs" ] && return
  mkdir -p "$gpuadm_journal/blobs"
  chmod 0700 "$gpuadm_home" "$gpuadm_journal" "$gpuadm_journal/blobs"
}

# journal_has KIND NAME [RUN]: whether some run, or that one, has touched it.
journal_has() {
  [ -f "$gpuadm_journal/log" ] && kind=$1 name=$2 run=${3:-} awk -F '\t' '
    $1 == ENVIRON["kind"] && $2 == ENVIRON["name"] && (ENVIRON["run"] == "" || $5 == ENVIRON["run"]) { found = 1; exit }
    END { exit !found }' "$gpuadm_journal/log"
}

# journal_line KIND NAME STATE
journal_line() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$gpuadm_step" "$gpuadm_run" >>"$gpuadm_journal/log"
  sync "$gpuadm_journal/log" 2>/dev/null || :
}

# thing_now KIND NAME: what it is now, in the words of the journal.
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
    directory) if [ -d "$2" ]; then echo there; else echo absent; fi ;;
    unit) printf '%s %s\n' "$(systemctl is-enabled "$2" 2>/dev/null || :)" "$(systemctl is-active "$2" 2>/dev/null || :)" ;;
    sysctl) { cat "/proc/sys/$2" 2>/dev/null || echo absent; } | tr '\t' ' ' ;;
    module) if [ -d "/sys/module/$(printf %s "$2" | tr - _)" ]; then echo loaded; else echo absent; fi ;;
    package) package_now "$2" ;;
    # With its priority, where it was given one.
    swap) name=$2 awk '$1 == ENVIRON["name"] { is = $5 < 0 ? "on" : "on " $5 } END { print is == "" ? "off" : is }' /proc/swaps ;;
    image) if gpuadm_list=$(ctr --timeout 10s -n k8s.io images ls -q "name==$2" 2>/dev/null); then
      if [ -n "$gpuadm_list" ]; then echo there; else echo absent; fi
    elif have ctr; then echo unknown; else echo absent; fi ;;
    docker-image) if timeout 10 docker image inspect "$2" >/dev/null 2>&1; then echo there; else echo absent; fi ;;
    cluster) if [ -e /etc/kubernetes/admin.conf ] || [ -e /etc/kubernetes/kubelet.conf ]; then echo there; else echo absent; fi ;;
    mig) mig_now "$2" ;;
    compute-mode) compute_mode_now "$2" ;;
    *) echo unknown ;;
  esac
}

# package_now NAME: "absent", or its state and version.
package_now() {
  if have dpkg-query; then
    gpuadm_is=$(dpkg-query -W -f '${db:Status-Abbrev}${Version}' "$1" 2>/dev/null) || gpuadm_is=absent
    case $gpuadm_is in un* | pn*) gpuadm_is=absent ;; esac
    printf '%s\n' "$gpuadm_is"
  else
    rpm -q "$1" 2>/dev/null || echo absent
  fi
}

# journal_thing KIND NAME: notes what it is, once a run.
journal_thing() {
  journal_open
  journal_has "$1" "$2" "$gpuadm_run" || journal_line "$1" "$2" "$(thing_now "$1" "$2")"
}

# journal_file PATH: before a file is written, moved or removed. Missing parents are noted as well.
journal_file() {
  journal_original "$1"
  journal_touched file "$1"
}

# journal_original PATH: the same for who says with journal_wrote what becomes of it.
journal_original() {
  case $1 in *"$gpuadm_tab"* | *"
"*) die "gpuadm does not touch a path with a tab or a line end in it: $1" ;; esac
  journal_open
  ! journal_has file "$1" "$gpuadm_run" || return 0
  gpuadm_was=$(thing_now file "$1")
  case $gpuadm_was in
    was\ *) journal_keep "$1" "${gpuadm_was##* }" ;;
    absent) journal_parents "$1" ;;
    other) die "$1 is no plain file: move it away, then run again" ;;
  esac
  journal_line file "$1" "$gpuadm_was"
}

# journal_keep PATH SHA256: what it contains.
journal_keep() {
  gpuadm_blob=$gpuadm_journal/blobs/$2
  [ ! -f "$gpuadm_blob" ] || return 0
  (umask 077 && cp "$1" "$gpuadm_blob.$$")
  sync "$gpuadm_blob.$$" 2>/dev/null || :
  mv -f "$gpuadm_blob.$$" "$gpuadm_blob"
}

# journal_parents PATH: the directories that must be made for it.
journal_parents() {
  gpuadm_parent=$(dirname "$1")
  while [ ! -e "$gpuadm_parent" ]; do
    journal_thing directory "$gpuadm_parent"
    gpuadm_parent=$(dirname "$gpuadm_parent")
  done
}

# journal_touched KIND NAME: when the step ends, the journal is told what it has become, so that undo can tell this
# run's work from what somebody did later.
journal_touched() { printf '%s\t%s\n' "$1" "$2" >>"$gpuadm_journal/touched"; }
journal_close() {
  [ -f "$gpuadm_journal/touched" ] || return 0
  while IFS=$gpuadm_tab read -r gpuadm_kind gpuadm_name; do
    journal_line "+$gpuadm_kind" "$gpuadm_name" "$(thing_now "$gpuadm_kind" "$gpuadm_name")"
  done <"$gpuadm_journal/touched"
  rm -f "$gpuadm_journal/touched"
}

# journal_wrote PATH NEW [SHA256]: it is about to become the file NEW.
journal_wrote() {
  journal_line +file "$1" "was $(stat -c '%a %u %g %.9Y' "$2") ${3:-$(sha256_of "$2")}"
}

# journal_sysctl KEY: a path below /proc/sys.
journal_sysctl() {
  journal_thing sysctl "$1"
  journal_touched sysctl "$1"
}

# journal_unit UNIT: before a unit is started, stopped, enabled, disabled or masked.
journal_unit() { journal_thing unit "$1"; }
# journal_module NAME: before a module is loaded or unloaded.
journal_module() { journal_thing module "$1"; }
# journal_package NAME: before a package is installed, upgraded or held.
journal_package() { journal_thing package "$1"; }
# journal_for_others KIND NAME: before somebody else changes it for gpuadm: a cluster's parts. What they make of it is put
# back like gpuadm's own work.
journal_for_others() {
  if [ "$1" = file ]; then journal_original "$2"; else journal_thing "$1" "$2"; fi
  journal_line "+$1" "$2" any
}
# journal_made KIND NAME: something that has no before, for example a cluster.
journal_made() {
  journal_open
  journal_has "$1" "$2" "$gpuadm_run" || journal_line "$1" "$2" absent
}

# --- Files -------------------------------------------------------------------------------------------

# file_is PATH MODE: whether it holds $content. Where not, what it holds is printed. MODE "keep": whichever it has.
file_is() {
  [ -f "$1" ] || return 1
  gpuadm_sum=$(printf '%s' "$content" | sha256sum | cut -d' ' -f1)
  case $2 in
    keep) if file_sum_is "$1" "$gpuadm_sum"; then return 0; fi ;;
    *) if [ "$(sha256_of "$1")" = "$gpuadm_sum" ] && [ "$(stat -L -c '%a' "$1")" = "${2#0}" ]; then return 0; fi ;;
  esac
  head -c 262144 "$1"
  return 1
}

# file_sum_is PATH SHA256: of what it holds, or of its lines as the probe tells them: each with one plain line end.
file_sum_is() {
  [ "$(sha256_of "$1")" = "$2" ] ||
    [ "$(awk '{ sub(/\r$/, ""); print }' "$1" | sha256sum | cut -d' ' -f1)" = "$2" ]
}

# file_put PATH MODE [UNIT]: writes $content beside the target and renames; a unit that reads it is marked for a
# restart first, so that a run cut off in between restarts it the next time. A link is followed.
# $base_sha256: what the content was made from; where the file is no longer that, nothing is written.
# MODE "keep": mode and owner that it has, or 0644. file_trial, where the step has one, is asked about $new before $path
# becomes that; what it says on stderr is the reason.
file_put() {
  gpuadm_path=$(readlink -f "$1" 2>/dev/null || printf '%s' "$1")
  if [ -n "${base_sha256:-}" ]; then
    if [ -f "$gpuadm_path" ]; then file_sum_is "$gpuadm_path" "$base_sha256"; else [ "$base_sha256" = absent ]; fi ||
      die "$1 has changed since it was read: run again"
  fi
  journal_original "$gpuadm_path"
  [ -d "$(dirname "$gpuadm_path")" ] || mkdir -p "$(dirname "$gpuadm_path")"
  gpuadm_new=$gpuadm_path.gpuadm.$$
  (umask 077 && printf '%s' "$content" >"$gpuadm_new") || {
    rm -f "$gpuadm_new" # of a disk that is full
    return 1
  }
  case $2 in
    keep) file_mode_like "$gpuadm_path" "$gpuadm_new" ;;
    *) chmod "$2" "$gpuadm_new" ;;
  esac
  file_try "$gpuadm_path" "$gpuadm_new" "${3:-}"
  if [ -n "${3:-}" ]; then
    journal_has reader "$gpuadm_path" "$gpuadm_run" || journal_line reader "$gpuadm_path" "$3"
    unit_stale "$3"
  fi
  sync "$gpuadm_new" 2>/dev/null || :
  journal_wrote "$gpuadm_path" "$gpuadm_new"
  mv -f "$gpuadm_new" "$gpuadm_path"
  ! have restorecon || restorecon "$gpuadm_path" 2>/dev/null || :
}

# file_mode_like PATH NEW: NEW gets PATH's mode and owner, or 0644 where there is none.
file_mode_like() {
  if [ -e "$1" ]; then
    chown --reference="$1" "$2"
    chmod --reference="$1" "$2"
  else
    chmod 0644 "$2"
  fi
}

# file_try PATH NEW [UNIT]: ends the step where its trial refuses NEW. What this run has written for the unit, which has not
# read it yet, is taken back.
file_try() {
  command -v file_trial >/dev/null || return 0
  # shellcheck disable=SC2034 # the trial reads them
  if ! gpuadm_why=$(path=$1 new=$2 && file_trial 2>&1); then
    rm -f "$2"
    if [ "$(unit_is_stale_by "${3:-}")" = "$gpuadm_run" ]; then
      unit_files_back "$3" "$gpuadm_run" >/dev/null
      unit_is_fresh "$3"
    fi
    say "$gpuadm_why"
    die "$1 is left as it is: the program that reads it would refuse what gpuadm wants to write"
  fi
}

# file_install PATH MODE: the same with what comes on stdin, which must have the sum $bundle_sha256. Where that is the file
# $gpuadm_arrived, which had it when it arrived, it is moved and not written again.
file_install() {
  journal_original "$1"
  mkdir -p "$(dirname "$1")"
  gpuadm_new=$1.gpuadm.$$
  trap 'rm -f "$gpuadm_new"' EXIT
  # Summed while it comes; a disk that is full spoils the sum.
  if [ -n "${gpuadm_arrived:-}" ] && mv "$gpuadm_arrived" "$gpuadm_new" 2>/dev/null; then
    gpuadm_sha=$bundle_sha256
  else
    gpuadm_sha=$({ (umask 077 && tee "$gpuadm_new") || echo damaged; } | sha256sum | cut -d' ' -f1)
  fi
  [ "$gpuadm_sha" = "$bundle_sha256" ] || die "$1 arrived damaged: run again"
  chmod "$2" "$gpuadm_new"
  sync "$gpuadm_new" 2>/dev/null || :
  journal_wrote "$1" "$gpuadm_new" "$gpuadm_sha"
  mv -f "$gpuadm_new" "$1"
  ! have restorecon || restorecon "$1" 2>/dev/null || :
  mkdir -p "$gpuadm_home/sums"
  printf '%s\n' "$gpuadm_sha $(file_identity "$1")" >"$(file_sum_note "$1")"
}

# bundle_file_is_whole: the bundle's file that comes on stdin has its sum, or the step ends here. What came by way of the depot had it
# there; the small ones that did not are laid down first.
bundle_file_is_whole() {
  [ -z "${depot_file:-}" ] || return 0
  cat >"$gpuadm_home/arrives" || : "the sum is another then"
  gpuadm_sum=$(sha256_of "$gpuadm_home/arrives")
  exec <"$gpuadm_home/arrives"
  rm -f "$gpuadm_home/arrives"
  [ "$gpuadm_sum" = "$bundle_sha256" ] || die "a file of the bundle arrived damaged: run again"
}

# file_has_sum PATH SHA256: a file that was installed with that sum is not read again while nobody has written to it.
file_has_sum() {
  [ -f "$1" ] || return 1
  if [ "$(cat "$(file_sum_note "$1")" 2>/dev/null)" = "$2 $(file_identity "$1")" ]; then return 0; fi
  [ "$(sha256_of "$1")" = "$2" ]
}
file_sum_note() { printf '%s/sums/%s' "$gpuadm_home" "$(printf %s "$1" | tr / _)"; }
file_identity() { stat -L -c '%n %d %i %s %y %z' "$1"; }

# file_become PATH STATE: what the journal says it was.
file_become() {
  case $2 in
    absent) rm -f "$1" ;;
    link\ *)
      ln -s "${2#link }" "$1.gpuadm.$$"
      mv -fT "$1.gpuadm.$$" "$1"
      ;;
    was\ *)
      # shellcheck disable=SC2086 # was, mode, owner, group, time, sum
      set -- "$1" $2
      (umask 077 && cp "$gpuadm_journal/blobs/$7" "$1.gpuadm.$$") || {
        rm -f "$1.gpuadm.$$" # of a disk that is full
        return 1
      }
      chown "$4:$5" "$1.gpuadm.$$"
      chmod "$3" "$1.gpuadm.$$"
      touch -d "@$6" "$1.gpuadm.$$"
      sync "$1.gpuadm.$$" 2>/dev/null || :
      mv -f "$1.gpuadm.$$" "$1"
      ! have restorecon || restorecon "$1" 2>/dev/null || :
      ;;
    *) return 1 ;;
  esac
}

# file_restore PATH: what it was before this run, or before the last one that touched it. Fails where the journal knows
# nothing of it.
file_restore() {
  gpuadm_state=$(name=$1 run=$gpuadm_run awk -F '\t' '
    $1 == "file" && $2 == ENVIRON["name"] { if ($5 != ENVIRON["run"]) last = $3; else if (own == "") own = $3 }
    END { print own == "" ? last : own }' "$gpuadm_journal/log")
  journal_original "$1"
  file_become "$1" "$gpuadm_state" || return 1
  journal_line +file "$1" "$(thing_now file "$1")"
}

# unit_files_back UNIT [RUN]: what the run, or the last one that wrote files which the unit reads, has written is undone. Prints
# their names.
unit_files_back() {
  [ -f "$gpuadm_journal/log" ] || return 0
  unit=$1 only=${2:-} awk -F '\t' '
    $1 == "reader" && $3 == ENVIRON["unit"] && (ENVIRON["only"] == "" || $5 == ENVIRON["only"]) { if ($5 != run) { run = $5; n = 0 } name[n++] = $2 }
    END { while (n) print name[--n] }' "$gpuadm_journal/log" |
    while IFS= read -r gpuadm_file; do
      file_restore "$gpuadm_file" && printf ' %s' "$gpuadm_file"
    done
}

# would_become PATH: for checks of what a step will write; the new text is on stdin. A preview shows the difference.
would_become() {
  if [ "$gpuadm_step" != preview ] || ! have diff; then return 0; fi
  if [ -f "$1" ]; then gpuadm_old=$1; else gpuadm_old=/dev/null; fi
  diff -u --label "$gpuadm_old" --label "$1" "$gpuadm_old" - | head -c 262144 || :
}

# --- Fetching ----------------------------------------------------------------------------------------

# The proxy of the host's services, and of gpuadm's own steps. It may hold a password.
gpuadm_proxy_file=/etc/gpuadm/proxy.env
# Who needs it is told so. What the login says of proxies would send kubeadm and kubectl there, too; zypper knows no other.
[ ! -f "$gpuadm_proxy_file" ] || command -v zypper >/dev/null ||
  unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

# fetch URL SECONDS [OPTION...]: to stdout, through the host's proxy. curl is told it on stdin, as its arguments can be seen. Where
# https is asked, only https may answer.
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

# --- Manifests ---------------------------------------------------------------------------------------
# /etc/kubernetes/gpuadm/NAME.yaml, and in the cluster the sum of what was applied last.

manifest_is_applied() {
  export KUBECONFIG=/etc/kubernetes/admin.conf
  gpuadm_file=/etc/kubernetes/gpuadm/$1.yaml
  [ -f "$gpuadm_file" ] || return 1
  [ "$(kubectl --request-timeout=10s -n kube-system get configmap gpuadm -o "jsonpath={.data.$1}" 2>/dev/null)" = \
    "$(sha256_of "$gpuadm_file")" ] || return 1
  kubectl --request-timeout=10s get -f "$gpuadm_file" -o name >/dev/null 2>&1 || return 1
}

manifest_apply() {
  export KUBECONFIG=/etc/kubernetes/admin.conf
  gpuadm_file=/etc/kubernetes/gpuadm/$1.yaml
  kubectl --request-timeout=30s apply -f "$gpuadm_file"
  kubectl --request-timeout=10s -n kube-system create configmap gpuadm 2>/dev/null || : "it is there"
  kubectl --request-timeout=10s -n kube-system patch configmap gpuadm --type merge \
    -p "{\"data\":{\"$1\":\"$(sha256_of "$gpuadm_file")\"}}"
}

# cluster_objects NAMES: gpuadm's DaemonSets and ConfigMaps in kube-system whose names begin so, KIND/NAME a line. NAMES is
# a regular expression.
cluster_objects() {
  export KUBECONFIG=/etc/kubernetes/admin.conf
  kubectl --request-timeout=10s -n kube-system get daemonsets,configmaps -l app.kubernetes.io/managed-by=gpuadm -o name 2>/dev/null |
    grep -E "/($1)" | sort || :
}

# cluster_objects_keep NAMES [KIND/NAME...]: removes all of them but these, and waits until the pods of those that were removed
# have ended: a daemon of MPS gives its GPUs back when it ends.
cluster_objects_keep() {
  export KUBECONFIG=/etc/kubernetes/admin.conf
  gpuadm_names=$1
  shift
  for gpuadm_object in $(cluster_objects "$gpuadm_names"); do
    case " $* " in
      *" $gpuadm_object "*) ;;
      *) kubectl --request-timeout=60s -n kube-system delete "$gpuadm_object" ;;
    esac
  done
  in_time 90 cluster_objects_ended "$gpuadm_names" || say "pods of what was removed have not ended: kubectl -n kube-system get pods -o wide"
}

# cluster_objects_ended NAMES: no pod has a DaemonSet that is gone for its owner.
cluster_objects_ended() {
  gpuadm_there=$(cluster_objects "$1" | sed -n 's|^daemonset[^/]*/||p')
  kubectl --request-timeout=10s -n kube-system get pods \
    -o jsonpath='{range .items[*]}{.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}{"\n"}{end}' |
    sed -n 's|^DaemonSet/||p' | grep -E "^($1)" | sort -u |
    while read -r gpuadm_owner; do
      printf '%s\n' "$gpuadm_there" | grep -qxF "$gpuadm_owner" || exit 1
    done
}

# manifest_objects NAME: what is in it, as cluster_objects prints it.
manifest_objects() {
  KUBECONFIG=/etc/kubernetes/admin.conf kubectl --request-timeout=10s create --dry-run=client \
    -f "/etc/kubernetes/gpuadm/$1.yaml" -o name | sort
}

# compute_mode_now SLOT: who may use a GPU, as nvidia-smi says it: Default, Exclusive_Process, Prohibited.
compute_mode_now() {
  limit_of 20 nvidia-smi -i "$1" --query-gpu=compute_mode --format=csv,noheader 2>/dev/null || echo unknown
}

# --- MIG -----------------------------------------------------------------------------------------------
# What a GPU is divided into: "off", or "on" and its instances' profiles in order, apart by commas. SLOT is its PCI address.

# mig_now SLOT
mig_now() {
  gpuadm_mode=$(limit_of 20 nvidia-smi -i "$1" --query-gpu=mig.mode.current,mig.mode.pending --format=csv,noheader 2>/dev/null) || gpuadm_mode=unknown
  case $gpuadm_mode in
    'Enabled, Enabled') echo "on $(mig_instances "$1")" ;;
    'Disabled, Disabled' | '[N/A], [N/A]') echo off ;;
    *) echo "pending $gpuadm_mode" ;;
  esac
}
mig_instances() {
  limit_of 20 nvidia-smi mig -i "$1" -lgi 2>/dev/null | awk '$2 ~ /^[0-9]+$/ && $3 == "MIG" { print $4 }' | sort | paste -sd, -
}
limit_of() {
  if have timeout; then timeout -k 5 "$@"; else shift && "$@"; fi
}

# mig_become SLOT STATE: makes it so. Nobody may use the GPU; what needs a reset or a reboot is said, and never done here.
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
    *) die "gpuadm does not know how to divide GPU $1 so: $2" ;;
  esac
  case $(mig_now "$1") in
    pending*) die "GPU $1 changes its MIG mode when it is reset or the host is rebooted: nvidia-smi --gpu-reset -i $1, or reboot; then run again" ;;
  esac
  [ -z "${2#on}" ] || [ "$2" = off ] || limit_of 120 nvidia-smi mig -i "$1" -cgi "${2#on }" -C >&2
}

# --- Pods that a wait is about -------------------------------------------------------------------------

# The exit status of a wait's check whose condition cannot become true. No common program exits so.
gpuadm_hopeless=64
# wait_is_hopeless TEXT: ends the wait at once, with the reason.
wait_is_hopeless() {
  say "$*"
  exit "$gpuadm_hopeless"
}

# pods_unready NAMESPACE [KUBECTL-ARGUMENT...]: a line for each pod that is not ready: "NAME on NODE: REASON: MESSAGE". Ends the wait where a
# pod cannot become ready by itself: its image may not be pulled or has an invalid name, at once; the registry has no such image, after
# 30 s; a container has ended 5 times or more.
pods_unready() {
  gpuadm_namespace=$1
  shift
  gpuadm_container='container{"\t"}{.ready}{"\t"}{.restartCount}{"\t"}{.state.waiting.reason}{"\t"}{.state.waiting.message}{"\t"}{.lastState.terminated.exitCode}{"\n"}'
  gpuadm_pods=$(node_kubectl -n "$gpuadm_namespace" get pods "$@" -o "jsonpath={range .items[*]}pod{\"\\t\"}{.metadata.name}{\"\\t\"}{.status.phase}{\"\\t\"}{.spec.nodeName}{\"\\n\"}{range .status.conditions[?(@.type==\"PodScheduled\")]}scheduled{\"\\t\"}{.status}{\"\\t\"}{.message}{\"\\n\"}{end}{range .status.initContainerStatuses[*]}$gpuadm_container{end}{range .status.containerStatuses[*]}$gpuadm_container{end}{end}") || return 1
  gpuadm_pods=$(printf '%s\n' "$gpuadm_pods" | waited=${gpuadm_waited:-0} awk -F '\t' '
    function told() { if (name != "" && phase != "Succeeded" && (reason != "" || phase != "Running" || !ready)) print mark name ": " (reason != "" ? reason : phase == "Running" ? "not ready" : phase) }
    $1 == "pod" { told(); name = $2 ($4 == "" ? "" : " on " $4); phase = $3; reason = mark = ""; ready = 1; next }
    $1 == "scheduled" && $2 != "True" && reason == "" { reason = "not scheduled: " $3 }
    $1 == "container" {
      if ($2 != "true") ready = 0
      if ($4 == "" || reason != "") next
      reason = $4 ($5 == "" ? "" : ": " $5)
      absent = $5 ~ /not found|manifest unknown|name unknown|does not exist/
      if ($4 == "ErrImageNeverPull" || $4 == "InvalidImageName") mark = "! "
      if (($4 == "ImagePullBackOff" || $4 == "ErrImagePull") && absent && ENVIRON["waited"] >= 30) mark = "! "
      if ($4 == "CrashLoopBackOff") reason = "CrashLoopBackOff: ended " $3 " times" ($6 == "" ? "" : ", last with status " $6)
      if ($4 == "CrashLoopBackOff" && $3 >= 5) mark = "! "
    }
    END { told() }')
  gpuadm_bad=$(printf '%s\n' "$gpuadm_pods" | sed -n 's/^! //p')
  [ -z "$gpuadm_bad" ] || wait_is_hopeless "$gpuadm_bad"
  [ -z "$gpuadm_pods" ] || printf '%s\n' "$gpuadm_pods"
}

# --- Labels of nodes ---------------------------------------------------------------------------------
# LABELS: a line each, "key=value" to be there, "key-" to be absent.

# node_kubectl ARGUMENT...: as an administrator where this host can, else as its own node.
node_kubectl() {
  gpuadm_as=/etc/kubernetes/admin.conf
  [ -f "$gpuadm_as" ] || gpuadm_as=/etc/kubernetes/kubelet.conf
  kubectl --kubeconfig "$gpuadm_as" --request-timeout=10s "$@"
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

# unit_stale UNIT: it runs with settings that are no longer the file's, since this run or an earlier one.
unit_stale() {
  mkdir -p "$gpuadm_home/stale"
  unit_is_stale "$1" || printf '%s' "$gpuadm_run" >"$gpuadm_home/stale/$1"
}
unit_is_stale_by() { cat "$gpuadm_home/stale/$1" 2>/dev/null || :; }
unit_is_stale() { [ -e "$gpuadm_home/stale/$1" ]; }
unit_is_fresh() { rm -f "$gpuadm_home/stale/$1"; }
unit_is_active() { systemctl is-active --quiet "$1"; }

# --- The lock: two runs on one host exclude each other -----------------------------------------------
# lock/owner: run, client machine, and who. lock/program: pid and start time of the program that is running here.
# lock/beat: uptime in seconds when the owner was last heard of. A lock is alive while its program runs or its last
# beat is less than 90 s old.

process_start() { awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat" 2>/dev/null; }

lock_program_runs() {
  [ -f "$gpuadm_lock/program" ] || return 1
  read -r gpuadm_pid gpuadm_start <"$gpuadm_lock/program" || return 1
  [ -n "$gpuadm_pid" ] && [ "$(process_start "$gpuadm_pid")" = "$gpuadm_start" ]
}

lock_beat() { uptime_seconds >"$gpuadm_lock/beat"; }

# lock_enter: the lock is ours, and this program is the one that runs under it.
lock_enter() {
  gpuadm_holder=
  [ ! -f "$gpuadm_lock/owner" ] || read -r gpuadm_holder _ <"$gpuadm_lock/owner" || :
  if [ "$gpuadm_holder" != "$gpuadm_run" ]; then
    say "this run no longer holds the lock of the host${gpuadm_holder:+: $gpuadm_holder does}"
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

# --- Steps: step_check and step_apply are defined behind this ----------------------------------------
# Exit: 100 satisfied, 101 changed, 102 apply failed, 103 still needed after apply, 104 check failed, 105 the host must be
# rebooted, 108 a wait goes on, 109 what it waits for cannot happen, 97 no lock.
# None of their commands stands in a condition: sh would switch `set -e` off inside it.

# say_full_disks: the file systems that steps write to and that have no room, or no inode, left.
say_full_disks() {
  for gpuadm_where in / /etc /etc/kubernetes /etc/containerd /etc/docker /usr /usr/bin /opt /var /var/lib "$gpuadm_home" /var/lib/kubelet /var/lib/containerd /var/lib/docker \
    /var/lib/etcd /run /tmp; do
    limit_of 5 df -P "$gpuadm_where" 2>/dev/null || :
    limit_of 5 df -P -i "$gpuadm_where" 2>/dev/null || :
  done | awk '$5 == "100%" && !seen[$6]++ { print "the disk of " $6 " is full: make room there, then run again" }' >&2
}

step_end() {
  case $1 in 102 | 103 | 104 | 109) say_full_disks ;; esac
  journal_close
  lock_leave
  exit "$1"
}

# step_finish STATUS: behind an apply that ended so.
step_finish() {
  if [ "$1" -ne 0 ]; then
    say "(exit status $1)"
    step_end 102
  fi
  (
    set -eu
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
    step_apply
  ) </dev/null >&2
  step_finish $?
}

# With the bundle file on stdin.
step_upload() {
  lock_enter
  (
    set -eu
    step_apply
  ) >&2
  step_finish $?
}

# step_wait: polls the check for $gpuadm_round seconds; then the runner reports what it printed and runs this program again,
# until the step's timeout ($gpuadm_last is "yes" for the last time). $gpuadm_waited: seconds that earlier rounds took.
# Exit 108: not yet.
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

# reboot_order: the host is rebooted, and the boot that ends is printed. For $gpuadm_timeout seconds its lock counts as alive.
# Exit 106: gpuadm itself runs on this machine. 107: so it does, and it will go on by itself once somebody reboots it.
reboot_order() {
  lock_enter
  if [ "$(cat /etc/machine-id 2>/dev/null)" = "$gpuadm_client" ]; then
    gpuadm_rc=106
    [ -z "$gpuadm_resume" ] || ! resume_can || { resume_put && gpuadm_rc=107; }
    lock_leave
    exit "$gpuadm_rc"
  fi
  printf '%s\n' "$(($(date +%s) + gpuadm_timeout))" >"$gpuadm_lock/reboot"
  boot_id
  sync
  # Behind the answer, which would not arrive any more.
  (sleep 1 && { systemctl reboot || reboot; }) >/dev/null 2>&1 </dev/null &
  lock_leave
}

# resume_can: sudo must want no password at boot, where nobody is there to give it.
resume_can() {
  have systemctl && have runuser || return 1
  [ "$gpuadm_resume_user" = root ] || runuser -u "$gpuadm_resume_user" -- sudo -n -k true >/dev/null 2>&1
}
# resume_put: the next boot runs the program $gpuadm_resume, once.
resume_put() {
  (umask 077 && printf '%s' "$gpuadm_resume" >"$gpuadm_home/resume.new") || return 1
  sync "$gpuadm_home/resume.new" 2>/dev/null || :
  mv -f "$gpuadm_home/resume.new" "$gpuadm_home/resume"
  content="[Unit]
Description=gpuadm goes on after the reboot
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

# reboot_look: prints the boot that is now. One that is not $gpuadm_boot has come up: its services have started, and an API
# server of its own answers.
reboot_look() {
  gpuadm_now=$(boot_id)
  if [ "$gpuadm_now" != "$gpuadm_boot" ]; then
    in_time 120 boot_is_complete || : "what still starts is not waited for"
    lock_enter
    rm -f "$gpuadm_lock/reboot"
    in_time "$((gpuadm_timeout - 130))" api_server_answers || die "its API server does not answer after the reboot: journalctl -u kubelet"
    lock_leave
  fi
  printf '%s\n' "$gpuadm_now"
}
boot_is_complete() { case $(systemctl is-system-running 2>/dev/null) in initializing | starting) return 1 ;; esac }
# That of this host, if it has one: kubeadm has the controller manager speak to no other.
api_server_answers() {
  [ -f /etc/kubernetes/manifests/kube-apiserver.yaml ] || return 0
  kubectl --kubeconfig /etc/kubernetes/controller-manager.conf --request-timeout=5s get --raw /healthz >/dev/null 2>&1
}
