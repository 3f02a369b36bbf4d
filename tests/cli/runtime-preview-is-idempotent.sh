#!/usr/bin/env bash
# `gpuadm runtime preview` over every configuration of the cases: what it prints, applied, leaves nothing to change.
. "$(dirname "$0")/common"

# preview ENGINE VERSION CONFIG IMPORTS: as JSON in out.
preview() {
  local options=(--engine "$1" --engine-version "$2" -o json)
  [ ! -f "$3" ] || options+=(--config "$3")
  [ ! -d "$4" ] || options+=(--imports "$4")
  exits 0 gpuadm runtime preview "${options[@]}"
}

# apply CONFIG IMPORTS: writes the files that the preview names.
apply() {
  local path
  while read -r path; do
    case $path in
      */conf.d/* | */crio.conf.d/*) mkdir -p "$2" && jq -j --arg path "$path" '.files[] | select(.path == $path) | .content' out >"$2/${path##*/}" ;;
      *) jq -j --arg path "$path" '.files[] | select(.path == $path) | .content' out >"$1" ;;
    esac
  done < <(jq -r '.files[].path' out)
}

count=0
for case in "$top"/tests/cases/{containerd,docker,crio}/*/; do
  engine=$(basename "$(dirname "$case")")
  rm -rf host && mkdir host
  cp -r "$case/imports" host/ 2>/dev/null || :
  cp "$case"/{config.toml,daemon.json,crio.conf} host/ 2>/dev/null || :
  case $engine in containerd) config=host/config.toml ;; docker) config=host/daemon.json ;; crio) config=host/crio.conf ;; esac
  version=$(cat "$case/version")
  preview "$engine" "$version" "$config" host/imports
  jq -e '.files | any(.changed)' out >/dev/null || case $case in */ready/) ;; *) fail "$case: nothing to change" ;; esac
  apply "$config" host/imports
  preview "$engine" "$version" "$config" host/imports
  jq -e '.files | any(.changed) | not' out >/dev/null || fail "$case: the second time something changes"
  jq -e '.effective | tostring | contains("nvidia-container-runtime")' out >/dev/null || fail "$case: no nvidia runtime"
  count=$((count + 1))
done
[ "$count" -ge 30 ] || fail "only $count cases"
