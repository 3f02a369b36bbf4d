# shellcheck shell=sh disable=SC2154
# What this node has of container images, for `gpuadm train check`. Lines, columns apart by tabs:
#
#   driver   VERSION                     of the loaded NVIDIA driver; no line: none is loaded
#   image    NAME present|absent|unknown [REASON]
#   config   NAME JSON                   of a present image: as crictl inspecti has it, on one line
#   pull     NAME yes|missing|denied|unreachable|unknown [REASON]   whether its registry has it, as seen from this node; nothing is pulled
#   programs NAME read|unknown [REASON]  whether the image was searched for programs, and then for each
#   program  NAME PATH
#
# Variables: socket, of the CRI; images: lines of NAME, host of the registry, repository, tag or digest, "always" or "missing": when the
# kubelet pulls it; "never": it does not; programs: names to find in images that are present, separated by blanks, or empty.
tab=$(printf '\t')
within() { # within SECONDS COMMAND...
  limit=$1
  shift
  if command -v timeout >/dev/null 2>&1; then timeout -k 2 "$limit" "$@"; else "$@"; fi
}
# The last line of a text, as one column.
reason() { printf '%s' "$1" | tail -n 1 | tr -d '\000-\037' | cut -c 1-300; }

driver() {
  version=$(cat /sys/module/nvidia/version 2>/dev/null || within 20 nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1)
  [ -z "$version" ] || printf 'driver\t%s\n' "$(reason "$version")"
}

# inspect_containerd NAME: as inspect, without crictl. The configuration of an image for several platforms is not looked for.
inspect_containerd() {
  content() { within 20 ctr --timeout 15s -n k8s.io content get "$1" 2>/dev/null | tr -d '\n\t' | head -c 1000000; }
  listed=$(within 20 ctr --timeout 15s -n k8s.io images ls "name==$1" 2>"$folder/message") || {
    printf 'image\t%s\tunknown\t%s\n' "$1" "$(reason "$(cat "$folder/message")")"
    return
  }
  digest=$(printf '%s\n' "$listed" | name=$1 awk '$1 == ENVIRON["name"] { print $3; exit }')
  if [ -z "$digest" ]; then
    printf 'image\t%s\tabsent\n' "$1"
    return
  fi
  is_present=yes
  printf 'image\t%s\tpresent\n' "$1"
  digest=$(content "$digest" | sed -n 's/.*"config" *: *{[^}]*"digest" *: *"\(sha256:[0-9a-f]*\)".*/\1/p')
  [ -z "$digest" ] || printf 'config\t%s\t{"info":{"imageSpec":%s}}\n' "$1" "$(content "$digest")"
}

# inspect NAME: its line `image`, and `config` if it is present. Sets is_present.
inspect() {
  is_present=no
  if ! command -v crictl >/dev/null 2>&1; then
    if [ "$socket" = /run/containerd/containerd.sock ] && command -v ctr >/dev/null 2>&1; then
      inspect_containerd "$1"
      return
    fi
    printf 'image\t%s\tunknown\tcrictl is not installed\n' "$1"
    return
  fi
  rc=0
  says=$(within 20 crictl -t 15s -r "unix://$socket" -i "unix://$socket" inspecti -o json "$1" 2>"$folder/message") || rc=$?
  # Warnings are on stderr, too.
  message=$(cat "$folder/message")
  case $rc:$message in
    0:*) ;;
    *'no such image'* | *'not found'* | *NotFound*)
      printf 'image\t%s\tabsent\n' "$1"
      return
      ;;
    *)
      printf 'image\t%s\tunknown\tcrictl: %s\n' "$1" "$(reason "$message")"
      return
      ;;
  esac
  is_present=yes
  printf 'image\t%s\tpresent\n' "$1"
  printf 'config\t%s\t%s\n' "$1" "$(printf '%s' "$says" | tr -d '\n\t' | head -c 1000000)"
}

# head_of URL [FILE]: the status of a registry's response, 000 if there is none; headers are in $folder/headers, curl's message in
# $folder/message. FILE: curl's options with a token.
head_of() {
  curl --silent --show-error --head --max-time 10 --output "$folder/headers" --write-out '%{http_code}' ${2:+--config "$2"} \
    --header 'Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json' \
    --header 'Accept: application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json' \
    -- "$1" 2>"$folder/message" || :
}
# parameter NAME: of the challenge of a response with status 401; empty if it has other characters than an address.
parameter() {
  tr -d '\r' <"$folder/headers" | sed -n "s/^[Ww][Ww][Ww]-[Aa]uthenticate: Bearer .*$1=\"\([A-Za-z0-9:/._-]*\)\".*/\1/p" | head -n 1
}
# The options of curl with an anonymous token, in $folder/token.
anonymous_token() {
  realm=$(parameter realm) service=$(parameter service)
  case $realm in https://*) ;; *) return 1 ;; esac
  token=$(curl --silent --max-time 10 --get --data-urlencode "service=$service" --data-urlencode "scope=repository:$1:pull" -- "$realm" 2>/dev/null |
    head -c 100000 | tr -d '\n' | sed -n 's/.*"\(access_\)\{0,1\}token" *: *"\([A-Za-z0-9._~+/=-]*\)".*/\2/p')
  [ -n "$token" ] || return 1
  printf 'header = "Authorization: Bearer %s"\n' "$token" >"$folder/token"
}

# is_configured HOST: whether the container runtime may have another address, login or protocol for a registry.
is_configured() {
  case $socket in
    /run/containerd/containerd.sock) ;;
    *) return 0 ;;
  esac
  # containerd uses http for these.
  case $1 in localhost | localhost:* | 127.* | '['*) return 0 ;; esac
  [ -e "/etc/containerd/certs.d/$1" ] || [ -e /etc/containerd/certs.d/_default ] ||
    grep -qsE 'registry\.(mirrors|configs)' /etc/containerd/config.toml ||
    grep -sE '^ *config_path *= *["'"'"'][^"'"'"']' /etc/containerd/config.toml | grep -qv /etc/containerd/certs.d
}

# pullable NAME HOST REPOSITORY TAG
pullable() {
  print_pull() { printf 'pull\t%s\t%s\t%s\n' "$1" "$2" "$3"; }
  if is_configured "$2"; then
    print_pull "$1" unknown "the container runtime has settings for $2"
    return
  fi
  if systemctl show containerd.service crio.service docker.service --property=Environment 2>/dev/null | grep -qi '_proxy='; then
    print_pull "$1" unknown 'images are pulled through a proxy'
    return
  fi
  if ! command -v curl >/dev/null 2>&1; then
    print_pull "$1" unknown 'curl is not installed'
    return
  fi
  server=$2
  [ "$server" != docker.io ] || server=registry-1.docker.io
  url=https://$server/v2/$3/manifests/$4
  status=$(head_of "$url")
  if [ "$status" = 401 ] && anonymous_token "$3"; then status=$(head_of "$url" "$folder/token"); fi
  case $status in
    200) print_pull "$1" yes '' ;;
    404) print_pull "$1" missing "$server answers 404" ;;
    401 | 403) print_pull "$1" denied "$server answers $status" ;;
    000 | '') print_pull "$1" unreachable "$(reason "$(cat "$folder/message")")" ;;
    *) print_pull "$1" unknown "$server answers $status" ;;
  esac
}

remove_view() { within 30 ctr -n k8s.io images unmount --rm "$folder/view" >/dev/null 2>&1 || umount "$folder/view" 2>/dev/null || :; }

# find_programs NAME: in a read-only view of the image, which is removed again. Links in the image are not followed.
find_programs() {
  if [ "$socket" != /run/containerd/containerd.sock ] || ! command -v ctr >/dev/null 2>&1; then
    printf 'programs\t%s\tunknown\tonly images of containerd can be searched\n' "$1"
    return
  fi
  mkdir "$folder/view"
  if says=$(within 60 ctr -n k8s.io images mount "$1" "$folder/view" 2>&1); then
    printf 'programs\t%s\tread\n' "$1"
    # shellcheck disable=SC2046,SC2086 # names
    within 30 find -P "$folder/view" -xdev -maxdepth 6 \( -type f -o -type l \) \( $(printf -- '-name %s -o ' $programs) -false \) 2>/dev/null |
      grep -v "$tab" | head -n 200 | while IFS= read -r path; do printf 'program\t%s\t%s\n' "$1" "${path#"$folder/view"}"; done
    remove_view
  else
    printf 'programs\t%s\tunknown\t%s\n' "$1" "$(reason "$says")"
  fi
  rmdir "$folder/view" 2>/dev/null || :
}

umask 077
folder=$(mktemp -d /run/gpuadm-image.XXXXXX) || exit 1
# A view that could not be removed is not deleted as a folder.
trap '[ ! -d "$folder/view" ] || remove_view; rm -f "$folder/headers" "$folder/message" "$folder/token"; rmdir "$folder/view" "$folder" 2>/dev/null || :' EXIT
trap 'exit 1' HUP INT TERM
driver </dev/null
while IFS=$tab read -r name host repository tag pulled; do
  [ -n "$name" ] || continue
  inspect "$name" </dev/null
  case $pulled:$is_present in
    never:* | missing:yes) ;;
    *) pullable "$name" "$host" "$repository" "$tag" </dev/null ;;
  esac
  if [ "$is_present" = yes ] && [ -n "$programs" ]; then find_programs "$name" </dev/null; fi
done <<LIST
$images
LIST
