# shellcheck shell=sh disable=SC2034,SC2154
# Functions for the steps that configure mirrors and proxies, loaded after prelude.sh.

# proxy_unit_check UNIT: whether its drop-in refers to the proxy file.
proxy_unit_check() {
  proxy_unit_text "$1"
  file_is "$gpuadm_drop_in" "$gpuadm_drop_in_mode" >/dev/null || {
    printf '%s' "$content" | would_become "$gpuadm_drop_in"
    return 1
  }
}
# A unit must be restarted to read a changed proxy file.
proxy_unit_put() {
  proxy_unit_text "$1"
  file_put "$gpuadm_drop_in" "$gpuadm_drop_in_mode" "$1"
  systemctl daemon-reload
}
# A password is in a file that only root can read, and not in the unit, which every user can read (systemctl show).
proxy_unit_text() {
  gpuadm_drop_in=/etc/systemd/system/$1.d/20-gpuadm-proxy.conf gpuadm_drop_in_mode=0644
  # security.profile: hardened restricts the kubelet's drop-ins.
  [ "$(stat -c %a "$gpuadm_drop_in" 2>/dev/null)" != 600 ] || gpuadm_drop_in_mode=0600
  content="# Written by gpuadm.
[Service]
EnvironmentFile=-$gpuadm_proxy_file
"
}

# mirror_block URL: containerd's host entry. A path that already contains /v2/ is used unchanged.
mirror_block() {
  printf '# gpuadm: begin\n[host."%s"]\n  capabilities = ["pull", "resolve"]\n' "$1"
  case $1 in */v2 | */v2/*) echo '  override_path = true' ;; esac
  printf '# gpuadm: end\n'
}

# mirror_hosts_text FILE URL: hosts.toml with that mirror first, and the rest unchanged.
mirror_hosts_text() {
  gpuadm_theirs=$(awk '/^# gpuadm: begin/ { skip = 1 } !skip { print } /^# gpuadm: end/ { skip = 0 }' "$1" 2>/dev/null || :)
  case $gpuadm_theirs in
    *"[host.\"$2\"]"*) cat "$1" && return ;;
  esac
  printf '%s\n' "$gpuadm_theirs" | block=$(mirror_block "$2") awk '
    NR == 1 && $0 == "" { next }
    /^[ \t]*\[/ && !done { print ENVIRON["block"]; done = 1 }
    { print }
    END { if (!done) print ENVIRON["block"] }'
}

# mirror_hosts_each FUNCTION: calls it for each mirror, with $path and $content; a failure ends the step. Fails if $gpuadm_failed
# was set.
mirror_hosts_each() {
  gpuadm_failed=0
  while read -r gpuadm_registry gpuadm_url; do
    path=$registry_hosts/$gpuadm_registry/hosts.toml
    content=$(mirror_hosts_text "$path" "$gpuadm_url")
    content="$content
"
    "$1"
  done <<END
$(printf %s "$registry_mirrors")
END
  return "$gpuadm_failed"
}
mirror_hosts_is() {
  file_is "$path" keep >/dev/null || {
    printf '%s' "$content" | would_become "$path"
    gpuadm_failed=1
  }
}
mirror_hosts_put() {
  mirror_is_registry "$gpuadm_registry" "$gpuadm_url"
  if file_is "$path" keep >/dev/null; then return 0; fi
  file_put "$path" keep
}

# mirror_is_registry REGISTRY URL: ends the step if the mirror returns an HTML page. A mirror that is temporarily unreachable is
# accepted, because the runtime then falls back to the registry.
mirror_is_registry() {
  have curl || return 0
  case $2 in */v2 | */v2/*) gpuadm_ask=$2/ ;; *) gpuadm_ask=${2%/}/v2/ ;; esac
  gpuadm_said=$(fetch "$gpuadm_ask" 20 -o /dev/null -w '%{http_code} %{content_type}' 2>/dev/null || :)
  case $gpuadm_said in
    200\ text/html* | 30?\ text/html*) die "mirrors.registries.$1: $gpuadm_ask returns an HTML page and is not a registry: specify another mirror" ;;
    407*) die "the proxy refuses the requests of this host (407): check proxy.loginFile" ;;
  esac
}
