# shellcheck shell=sh disable=SC2154
# Functions of `gpuadm undo`, loaded after prelude.sh. A step has kind, name, was (the state to restore), now (the state when the
# journal was read; empty if it does not matter) and reader (a unit that reads the file).


# undo_cluster_now: "unfinished" if gpuadm's kubeadm init or join did not complete. kubeadm reports success at the end of its log
# (Kubernetes 1.15 and newer); gpuadm records it immediately afterwards.
undo_cluster_now() {
  if ! journal_has cluster kubeadm; then
    thing_now cluster kubeadm
  elif [ -e "$gpuadm_home/joining" ]; then
    echo unfinished
  elif [ -f "$gpuadm_home/kubeadm-init.log" ] && [ ! -e "$gpuadm_home/cluster" ] &&
    ! grep -q 'initialized successfully' "$gpuadm_home/kubeadm-init.log"; then
    echo unfinished
  else
    thing_now cluster kubeadm
  fi
}

# undo_read: the journal, and the current state of each thing in it.
undo_read() {
  printf 'now\tcluster\tkubeadm\t%s\n' "$(undo_cluster_now)"
  if [ -f "$gpuadm_journal/log" ]; then
    undo_lines
    awk -F '\t' 'NF == 5 && $1 !~ /^\+/ && $1 != "cluster" && !seen[$1 FS $2]++ { print $1 "\t" $2 }' "$gpuadm_journal/log" |
      while IFS=$gpuadm_tab read -r gpuadm_kind gpuadm_name; do
        printf 'now\t%s\t%s\t%s\n' "$gpuadm_kind" "$gpuadm_name" "$(thing_now "$gpuadm_kind" "$gpuadm_name" </dev/null)"
      done
    undo_packages_lost
    # Damaged blobs are not listed.
    (cd "$gpuadm_journal/blobs" && sha256sum -- * 2>/dev/null) | awk '$1 == $2 { print "blob\t" $1 }'
  fi
  echo end
}

# undo_lines: the journal, with incomplete lines marked as "bad". A line without a newline may lack a part of its last field.
undo_lines() {
  gpuadm_end=$(if journal_is_cut_off; then echo no; else echo yes; fi)
  awk -F '\t' -v end="$gpuadm_end" '
    function put() { print (NF == 5 && $1 ~ /^\+?[a-z-]+$/ && $2 != "" && $5 != "" ? "log" : "bad") "\t" $0 }
    NR > 1 { this = $0; $0 = last; put(); $0 = this }
    { last = $0 }
    END { if (NR) { $0 = last; if (end == "yes") put(); else print "bad\t" $0 } }' "$gpuadm_journal/log"
}

# undo_is_done: the states of a unit, a module or a directory that count as restored differ from the recorded state.
undo_is_done() {
  gpuadm_is=$(thing_now "$kind" "$name")
  [ "$gpuadm_is" != "$was" ] || return 0
  case $kind in
    unit) undo_unit_is_done ;;
    # A module that is in use stays until the next boot; a built-in module stays permanently.
    module) [ "$was" = absent ] && { [ "$(cat "/sys/module/$(printf %s "$name" | tr - _)/refcnt" 2>/dev/null)" != 0 ] || undo_is_used "$name"; } ;;
    directory) [ "$gpuadm_step" != preview ] && { path_is_mount "$name" || [ -n "$(ls -A "$name" 2>/dev/null)" ]; } ;;
    packages)
      [ ! -e "$gpuadm_home/conffiles" ] || return 1
      gpuadm_left=
      for gpuadm_one in $name; do undo_package_is_gone "$gpuadm_one" || gpuadm_left="$gpuadm_left $gpuadm_one"; done
      [ -n "$gpuadm_left" ] || return 0
      # shellcheck disable=SC2086 # several
      gpuadm_left=$(packages_unneeded $gpuadm_left 2>/dev/null) || return 1
      [ -z "$gpuadm_left" ]
      ;;
    sysctl) [ "$was" = absent ] || { [ "$gpuadm_step" != preview ] && undo_is_used "$name"; } ;;
    # The package that has the file was removed.
    mode) [ "$gpuadm_is" = absent ] ;;
    # The state could not be read.
    package | compute-mode | persistence) [ "$was" = unknown ] ;;
    mig) case $was in pending*) ;; *) return 1 ;; esac ;;
    # The image was removed with the containerd that gpuadm installed, which is stopped; only ctr is left.
    image) [ "$gpuadm_is" = unknown ] && ! unit_is_active containerd.service && journal_has file "$(command -v ctr)" ;;
    *) return 1 ;;
  esac
}

# undo_is_used NAME: whether another program needs the module or the sysctl now. The kernel does not count interfaces as users of their
# module; without forwarding, the networks of Docker and libvirt end.
undo_is_used() {
  case $1 in
    veth | vxlan)
      # One process of each network namespace.
      for gpuadm_pid in $(stat -L -c '%i %n' /proc/[0-9]*/ns/net 2>/dev/null | sort -u -k 1,1 | sed 's|.*/proc/\([0-9]*\)/.*|\1|'); do
        [ -z "$(nsenter -t "$gpuadm_pid" -n ip -o link show type "$1" 2>/dev/null)" ] || return 0
      done
      return 1
      ;;
    br_netfilter | net/ipv4/ip_forward | net/ipv6/conf/all/forwarding)
      for gpuadm_unit in docker.service libvirtd.service virtnetworkd.service snap.lxd.daemon.service incus.service; do
        ! unit_is_active "$gpuadm_unit" || return 0
      done
      return 1
      ;;
    *) return 1 ;;
  esac
}

undo_unit_is_done() {
  case ${was%% *}:${gpuadm_is%% *} in
    enabled:enabled | disabled:disabled | masked:masked) ;;
    disabled: | disabled:not-found) ;; # its file was removed before a run was interrupted
    enabled:* | disabled:* | masked:* | :enabled | not-found:enabled | generated:masked) return 1 ;;
  esac
  case ${was##* }:${gpuadm_is##* } in
    active:active | active:activating | active:reloading) ;;
    active:* | *:active | *:activating | *:reloading) return 1 ;;
  esac
}

undo_check() {
  if undo_is_done; then return 0; fi
  # Files that other users may not read, and files in a folder that a user could have prepared, are not shown.
  gpuadm_mode=${was#was } gpuadm_mode=${gpuadm_mode%% *}
  case $kind:$gpuadm_mode in
    file:*[4567]) if [ -n "$(find "$name" -type f -perm -004 2>/dev/null)" ] && path_look "$name" && [ "$gpuadm_actor" = root ]; then
      would_become "$name" <"$gpuadm_journal/blobs/${was##* }"
    fi ;;
  esac
  return 1
}

undo_apply() {
  if [ -n "$now" ] && [ "$(thing_now "$kind" "$name")" != "$now" ]; then
    die "$name has changed since the plan was shown: run again"
  fi
  case $kind in
    file) undo_file ;;
    directory)
      path_open_as_owner "$name"
      if [ "$was" = absent ]; then path_do rmdir "$name" 2>/dev/null || : "something is in it"; else path_do mkdir -p "$name"; fi
      ;;
    unit) undo_unit ;;
    sysctl) printf '%s\n' "$was" >"/proc/sys/$name" ;;
    mode)
      path_open "$name"
      chmod "$was" "$name"
      ;;
    module) if [ "$was" = absent ]; then modprobe -r "$name"; else modprobe "$name"; fi ;;
    package) "$(package_manager)_restore" "$name" "$was" ;;
    mig) mig_become "$name" "$was" ;;
    compute-mode) limit_of 60 nvidia-smi -i "$name" -c "$(printf %s "$was" | tr '[:lower:]' '[:upper:]')" >&2 ;;
    persistence) limit_of 60 nvidia-smi -i "$name" -pm "$([ "$was" = Enabled ] && echo 1 || echo 0)" >&2 ;;
    swap) undo_swap ;;
    packages)
      # shellcheck disable=SC2086 # several
      "$(package_manager)_remove" $name
      ;;
    image)
      undo_image
      rm -f "$gpuadm_home/images/$(printf %s "$name" | tr '/:' '__')"
      ;;
    docker-image)
      timeout 60 docker image rm "$name" >/dev/null
      rm -f "$gpuadm_home/images/$(printf %s "$name" | tr '/:' '__')"
      ;;
    *) die "cannot undo $kind $name: unknown kind" ;;
  esac
}

undo_swap() {
  case $name in
    # A device of zram exists while its unit is active.
    /dev/zram*)
      systemctl daemon-reload
      gpuadm_unit=dev-${name#/dev/}.swap
      if [ "$was" != off ] && systemctl cat "$gpuadm_unit" >/dev/null 2>&1; then
        systemctl start "$gpuadm_unit"
        return
      fi
      ;;
  esac
  case $was in off) swapoff "$name" ;; on) swapon "$name" ;; on\ *) swapon -p "${was#on }" "$name" ;; esac
}

undo_file() {
  [ -z "$reader" ] || unit_stale "$reader"
  file_become "$name" "$was"
  case $name in
    /etc/systemd/* | /etc/fstab) systemctl daemon-reload ;;
    /etc/ld.so.conf.d/*) ldconfig ;;
    /etc/udev/*) ! have udevadm || udevadm control --reload 2>/dev/null || : ;;
  esac
}

# containerd's CRI gives an imported image a second name, the digest of its configuration, which is removed with the last other
# name.
undo_image() {
  gpuadm_digest=$(ctr --timeout 10s -n k8s.io images ls "name==$name" | awk 'NR == 2 { print $3 }')
  ctr --timeout 60s -n k8s.io images rm --sync "$name" >/dev/null
  [ -n "$gpuadm_digest" ] || return 0
  gpuadm_names=$(ctr --timeout 10s -n k8s.io images ls -q "target.digest==$gpuadm_digest")
  case $gpuadm_names in
    '' | *"$gpuadm_newline"*) ;;
    sha256:*) ctr --timeout 60s -n k8s.io images rm --sync "$gpuadm_names" >/dev/null ;;
  esac
}

undo_unit() {
  case ${was##* } in active | activating | reloading) ;; *) systemctl stop "$name" 2>/dev/null || unit_is_gone ;; esac
  case ${was%% *} in
    enabled) systemctl enable --quiet "$name" ;;
    masked) systemctl mask --quiet "$name" ;;
    disabled | '' | not-found) systemctl disable --quiet "$name" 2>/dev/null || unit_is_gone ;;
    generated) systemctl unmask --quiet "$name" ;; # nothing else changes it
  esac
  case ${was##* } in active | activating | reloading) unit_is_active "$name" || systemctl start "$name" ;; esac
}
unit_is_gone() { ! systemctl cat "$name" >/dev/null 2>&1; }

# undo_package_is_gone NAME: it is not installed. If it had configuration files when gpuadm installed it ("rc" of dpkg), they may be left.
undo_package_is_gone() {
  gpuadm_is=$(package_now "$1")
  [ "$gpuadm_is" != absent ] || return 0
  name=$1 is=$gpuadm_is awk -F '\t' '
    NF == 5 && $1 == "package" && $2 == ENVIRON["name"] { was = $3; exit }
    END { exit !(was ~ /^.c / && ENVIRON["is"] ~ /^.c /) }' "$gpuadm_journal/log"
}

# undo_packages_beside NAME WAS: the package and those that its step changed with it, each as NAME=VERSION, because packages of one
# version depend on each other. Not those that others have needed, too ("any"), or have changed since.
undo_packages_beside() {
  name=$1 was=$2 awk -F '\t' '
    NF != 5 { next }
    $1 == "+package" { made[$2 FS $5] = $3 }
    $1 == "package" { name[++n] = $2; was[n] = $3; of[n] = $4 FS $5; key[n] = $2 FS $5 }
    $1 == "package" && $2 == ENVIRON["name"] && $3 == ENVIRON["was"] { step = $4 FS $5 }
    END {
      for (i = 1; i <= n; ++i)
        if (of[i] == step && (name[i] == ENVIRON["name"] || was[i] ~ /^.i / && made[key[i]] != "any"))
          print name[i] FS substr(was[i], 4) FS substr(made[key[i]], 4)
    }' "$gpuadm_journal/log" |
    while IFS=$gpuadm_tab read -r gpuadm_name gpuadm_old gpuadm_new; do
      if [ "$gpuadm_name" != "$1" ] && [ -n "$gpuadm_new" ]; then
        case $(package_now "$gpuadm_name") in ?i\ "$gpuadm_new") ;; *) continue ;; esac
      fi
      printf '%s=%s\n' "$gpuadm_name" "$gpuadm_old"
    done
}

# undo_packages_lost: packages that had another version before a run and cannot have it again, with the reason.
undo_packages_lost() {
  awk -F '\t' '
    NF != 5 { next }
    $1 == "+package" && $3 == "any" { any[$2 FS $5] = 1 }
    $1 == "package" && $3 !~ /^(absent|unknown|.c .*)$/ { line[++n] = $2 FS $3; key[n] = $2 FS $5 }
    END { for (i = 1; i <= n; ++i) if (!(key[i] in any) && !seen[line[i]]++) print line[i] }' "$gpuadm_journal/log" |
    while IFS=$gpuadm_tab read -r gpuadm_name gpuadm_was; do
      [ "$(package_now "$gpuadm_name" </dev/null)" != "$gpuadm_was" ] || continue
      gpuadm_why=$("$(package_manager)_cannot" "$gpuadm_name" "$gpuadm_was" </dev/null)
      [ -z "$gpuadm_why" ] || printf 'lost\tpackage\t%s\t%s\t%s\n' "$gpuadm_name" "$gpuadm_was" "$gpuadm_why"
    done
}

# --- Units whose files have changed ----------------------------------------------------------------------

undo_restart_check() {
  [ "$gpuadm_step" != preview ] || exit 1
  ! unit_is_stale "$name" || exit 1
}
undo_restart() {
  ! unit_is_active "$name" || systemctl restart "$name"
  unit_is_fresh "$name"
}

# --- Removes $runs from the journal, except the things in $kept ("KIND TAB NAME" lines) ------------------
# $unreadable: "forgotten" if incomplete and damaged lines are removed, too.

undo_forgotten() {
  awk -F '\t' '
    BEGIN {
      count = split(ENVIRON["gpuadm_runs"], run, " ")
      for (i = 1; i <= count; i++) gone[run[i]] = 1
      count = split(ENVIRON["gpuadm_kept"], line, "\n")
      for (i = 1; i <= count; i++) kept[line[i]] = 1
    }
    !(NF == 5 && $1 ~ /^\+?[a-z-]+$/ && $2 != "" && $5 != "") { if (ENVIRON["gpuadm_unreadable"] != "forgotten") print; next }
    { kind = $1; sub(/^\+/, "", kind); if (kind == "reader") kind = "file" }
    !($5 in gone) || (kind FS $2) in kept' "$gpuadm_journal/log"
}
undo_forget_check() {
  [ "$gpuadm_step" != preview ] || exit 1
  export gpuadm_runs="$runs" gpuadm_kept="$kept" gpuadm_unreadable="$unreadable"
  [ ! -f "$gpuadm_journal/log" ] || [ "$(undo_forgotten | sha256sum)" = "$(sha256sum <"$gpuadm_journal/log")" ] || exit 1
}
undo_forget() {
  journal_open
  rm -rf "$gpuadm_home/depot" # of a run that was killed during a transfer
  export gpuadm_runs="$runs" gpuadm_kept="$kept" gpuadm_unreadable="$unreadable"
  undo_forgotten >"$gpuadm_journal/log.$$" || {
    rm -f "$gpuadm_journal/log.$$" # if the disk is full
    die "cannot rewrite $gpuadm_journal/log"
  }
  sync "$gpuadm_journal/log.$$" 2>/dev/null || :
  if [ -s "$gpuadm_journal/log.$$" ]; then
    mv -f "$gpuadm_journal/log.$$" "$gpuadm_journal/log"
    for gpuadm_blob in "$gpuadm_journal"/blobs/*; do
      grep -qF " ${gpuadm_blob##*/}" "$gpuadm_journal/log" || rm -f "$gpuadm_blob"
    done
  else
    # Everything but the lock, which is removed when the run ends. What an operator has mounted there stays.
    find "$gpuadm_home" -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf --one-file-system {} +
  fi
}
