# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the steps that lead hosts to mirrors and proxies. They stand behind prelude.sh.

# proxy_unit_check UNIT: whether its drop-in names the file with the proxy.
proxy_unit_check() {
  proxy_unit_text "$1"
  file_is "$gpuadm_drop_in" 0644 >/dev/null || {
    printf '%s' "$content" | would_become "$gpuadm_drop_in"
    return 1
  }
}
# The unit reads it anew where the file with the proxy has changed.
proxy_unit_put() {
  proxy_unit_text "$1"
  file_put "$gpuadm_drop_in" 0644 "$1"
  systemctl daemon-reload
}
# A password stands in a file of root's and not in the unit, which everybody may look at (systemctl show).
proxy_unit_text() {
  gpuadm_drop_in=/etc/systemd/system/$1.d/20-gpuadm-proxy.conf
  content="# Written by gpuadm.
[Service]
EnvironmentFile=-$gpuadm_proxy_file
"
}

# mirror_block URL: what containerd is to ask. A path that has /v2/ in it already is used as it is.
mirror_block() {
  printf '# gpuadm: begin\n[host."%s"]\n  capabilities = ["pull", "resolve"]\n' "$1"
  case $1 in */v2 | */v2/*) echo '  override_path = true' ;; esac
  printf '# gpuadm: end\n'
}

# mirror_hosts_text FILE URL: hosts.toml with that mirror first and everything else as it is.
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

# mirror_hosts_each FUNCTION: calls it for each mirror, with $path and $content; one that fails ends the step. Fails where
# $gpuadm_failed was set.
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

# mirror_is_registry REGISTRY URL: ends the step where it answers with a page. One that cannot be reached just now is passed
# by: the runtime asks the registry itself then.
mirror_is_registry() {
  have curl || return 0
  case $2 in */v2 | */v2/*) gpuadm_ask=$2/ ;; *) gpuadm_ask=${2%/}/v2/ ;; esac
  gpuadm_said=$(fetch "$gpuadm_ask" 20 -o /dev/null -w '%{http_code} %{content_type}' 2>/dev/null || :)
  case $gpuadm_said in
    200\ text/html* | 30?\ text/html*) die "mirrors.registries.$1: $gpuadm_ask answers with a page, so no registry is there: name another mirror" ;;
    407*) die "the proxy refuses what this host asks it for (407): see proxy.loginFile" ;;
  esac
}
