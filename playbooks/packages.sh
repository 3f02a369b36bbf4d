# shellcheck shell=sh disable=SC2034,SC2154
# Functions for steps that install packages of the operating system, loaded after package-managers.sh.

# apt_settings FOLDER: apt settings that read only FOLDER/sources.list and store package lists in FOLDER/lists.
apt_settings() {
  cat <<END
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$1/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
}

# repository_put FILE SUM: a bundle's package archive becomes the source of from_packages. Of the host's own apt only the installed
# packages are read, and nothing is changed.
repository_put() (
  trap 'rm -rf "$gpuadm_home/repository.new"' EXIT
  rm -rf "$gpuadm_home/repository.new"
  mkdir -p "$gpuadm_home/repository.new/lists/partial"
  # tar does not decompress its stdin.
  tar -C "$gpuadm_home/repository.new" -xf - <"$1" ||
    die "cannot unpack the packages of the bundle in $gpuadm_home/repository.new: they need $(($(stat -c %s "$1") / 1048576 + 1)) MiB, and $(repository_room) MiB are free"
  printf 'deb [trusted=yes] file:%s ./\n' "$gpuadm_home/repository" >"$gpuadm_home/repository.new/sources.list"
  {
    printf 'Dir::Etc::main "/dev/null";\nDir::Etc::parts "/dev/null";\n'
    apt_settings "$gpuadm_home/repository"
  } >"$gpuadm_home/repository.new/apt.conf"
  rm -rf "$gpuadm_home/repository"
  mv "$gpuadm_home/repository.new" "$gpuadm_home/repository"
  APT_CONFIG=$gpuadm_home/repository/apt.conf apt-get update >/dev/null
  printf '%s\n' "$2" >"$gpuadm_home/repository/sum" # written last, when the repository is complete
)
# repository_room: free MiB, after removing an incomplete repository.
repository_room() {
  rm -rf "$gpuadm_home/repository.new"
  df -P -k "$gpuadm_home" | awk 'NR == 2 { print int($4 / 1024) }'
}

# source_update LIST: apt updates only the repositories in LIST. If one does not respond, LIST is restored to its state before the
# run, because every later apt-get update would fail.
source_update() {
  apt_update -o Dir::Etc::sourcelist="$1" -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0 -o APT::Update::Error-Mode=any && return 0
  file_restore "$1"
  return 1
}

# --- Keys that sign packages -------------------------------------------------------------------------

# fetch_small URL SECONDS FILE: fetches at most 1 MiB; a key has a few KiB.
fetch_small() {
  gpuadm_status=$({ { fetch "$1" "$2" --max-filesize 1048576 || echo "$?" >&3; } | head -c 1048577 >"$3"; } 3>&1)
  # Not every server sends the size in advance.
  if [ "$gpuadm_status" = 63 ] || [ "$(stat -c %s "$3")" -gt 1048576 ]; then
    die "$1 is larger than 1 MiB and is not a key: check the mirror and the host's proxy"
  fi
  return "${gpuadm_status:-0}"
}

# key_is_one FILE URL: verifies that the fetched file is a public key, because a mirror or a proxy may return a page.
key_is_one() {
  grep -q -e '-----BEGIN PGP PUBLIC KEY BLOCK-----' "$1" ||
    die "$2 is not a PGP public key: the response begins with '$(head -c 60 "$1" | tr -c '[:print:]' ' ')': check the mirror and the host's proxy"
}

# fetch_key URL FINGERPRINTS: the public key that signs packages. A key with another fingerprint is rejected.
fetch_key() (
  gpuadm_answer=$(mktemp)
  trap 'rm -f "$gpuadm_answer"' EXIT
  fetch_small "$1" 60 "$gpuadm_answer" ||
    die "cannot fetch $1 from this host: check its proxy (proxy: in the cluster file), specify a mirror (mirrors.packages), or use --bundle DIR"
  key_is_one "$gpuadm_answer" "$1"
  key_is_accepted "$gpuadm_answer" "$1" "$2"
  cat "$gpuadm_answer"
)

# key_is_accepted FILE URL FINGERPRINTS: every primary key in the file must have one of the fingerprints.
key_is_accepted() {
  [ -n "$3" ] || die "$2: no fingerprint is configured for this key: set mirrors.packageKeys in the cluster file"
  gpuadm_accepted=$(printf %s "$3" | tr 'a-f\n' 'A-F ')
  gpuadm_found=$(key_fingerprints "$1") || gpuadm_found=
  [ -n "$gpuadm_found" ] || die "$2: cannot read the fingerprint of this key; expected: $gpuadm_accepted"
  for gpuadm_key in $gpuadm_found; do
    case " $gpuadm_accepted " in
      *" $gpuadm_key "*) ;;
      *) die "$2 contains the key $gpuadm_key instead of $gpuadm_accepted: check the mirror and the host's proxy; for a mirror that signs with its own key, set mirrors.packageKeys in the cluster file" ;;
    esac
  done
}

# key_fingerprints FILE: the fingerprint of each primary key, one per line. For version 4 it is the SHA-1 of 0x99, the length and
# the body of the packet (RFC 9580, 5.5.4). Fails if the file contains anything that cannot be parsed this way.
key_fingerprints() (
  gpuadm_keys=$(mktemp)
  trap 'rm -f "$gpuadm_keys"' EXIT
  key_bytes "$1" >"$gpuadm_keys" || exit 1
  gpuadm_packets=$(key_packets "$gpuadm_keys") || exit 1
  printf '%s\n' "$gpuadm_packets" | while read -r gpuadm_at gpuadm_size; do
    {
      # shellcheck disable=SC2059 # the octal digits are the format
      printf "$(printf '\\231\\%03o\\%03o' "$((gpuadm_size / 256))" "$((gpuadm_size % 256))")"
      tail -c "+$((gpuadm_at + 1))" "$gpuadm_keys" | head -c "$gpuadm_size"
    } | sha1sum | cut -d' ' -f1 | tr a-f A-F
  done
)

# key_bytes FILE: the packets of a keyring, without its armor.
key_bytes() {
  if ! grep -q -a 'BEGIN PGP' "$1"; then
    cat "$1"
    return
  fi
  gpuadm_blocks=$(awk '
    { sub(/\r$/, "") }
    /BEGIN PGP/ { if (inside || $0 != "-----BEGIN PGP PUBLIC KEY BLOCK-----") exit bad = 1; inside = 1; text = ""; next }
    inside && /END PGP/ { if (text == "") exit bad = 1; print text; inside = 0; next }
    inside == 1 { if ($0 == "") inside = 2; else if ($0 !~ /^[A-Za-z]+: /) exit bad = 1; next }
    inside == 2 && /^=[A-Za-z0-9+\/]+$/ { inside = 3; next } # the checksum is the last line
    inside { if (inside == 3 || $0 !~ /^[A-Za-z0-9+\/]+=*$/) exit bad = 1; text = text $0 }
    END { exit bad || inside }' "$1") || return 1
  printf '%s\n' "$gpuadm_blocks" | while read -r gpuadm_block; do printf %s "$gpuadm_block" | base64 -d || exit 1; done
}

# key_packets FILE: "OFFSET LENGTH" of the body of every primary key (tag 6; RFC 9580, 4.2). Only version 4 has an SHA-1.
key_packets() {
  od -An -v -tu1 -w1 "$1" | awk '
    { byte[NR - 1] = $1 }
    function number(bytes,    sum) { for (sum = 0; bytes > 0; bytes--) sum = sum * 256 + byte[at++]; return sum }
    END {
      while (at < NR) {
        head = byte[at++]
        if (head >= 192) {
          tag = head - 192
          size = number(1)
          if (size >= 224 && size < 255) exit 1
          if (size == 255) size = number(4)
          else if (size >= 192) size = (size - 192) * 256 + number(1) + 192
        } else {
          tag = int((head - 128) / 4)
          if (head < 128 || head % 4 == 3) exit 1
          size = number(2 ^ (head % 4))
        }
        if (at + size > NR) exit 1
        if (tag == 6) {
          if (byte[at] != 4 || size > 65535) exit 1
          print at, size
        }
        at += size
      }
    }'
}

# --- Programs ----------------------------------------------------------------------------------------

# programs_missing: packages of programs that kubeadm and the kubelet call and that this host lacks.
programs_missing() {
  while read -r program package; do
    have "$program" || printf '%s\n' "$package"
  done <<END | sort -u
$system_programs
END
}

# packages_kept NAME REGEX...: sets $path and $content of the file that excludes the packages from unattended-upgrades.
packages_kept() {
  gpuadm_name=$1
  shift
  path=/etc/apt/apt.conf.d/52gpuadm-$gpuadm_name
  content="// Written by gpuadm.
Unattended-Upgrade::Package-Blacklist {
$(printf '  "%s";\n' "$@")
};
"
}
