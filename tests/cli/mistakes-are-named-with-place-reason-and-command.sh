#!/usr/bin/env bash
# A table of mistakes on the command line and in cluster files: each first line names place and reason, and the rest what to do.
. "$(dirname "$0")/common"

head=$'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster'
one='hosts: [{ name: cp1, address: 192.0.2.1 }]'
# file NAME LINE...: a cluster file.
file() { { printf '%s\n' "$head" && printf '%s\n' "${@:2}"; } >"$1.yaml"; }
file cluster 'hosts: [{ name: cp1, address: 127.0.0.1, port: 1, user: me }, { name: gpu1, address: 127.0.0.2, port: 1, user: me, role: worker }]'
file swap 'swap: of' "$one"
file bracket 'hosts: [{ name: cp1, address: 192.0.2.1 }' 'name: x'
file tab $'\thosts: []'
file nohosts 'hosts: []'
file key 'hots: [{ name: cp1 }]'
file twice 'hosts: [{ name: cp1, address: 192.0.2.1 },{ name: cp1, address: 192.0.2.2 }]'
file cidr 'network: { podCIDR: 10.244.0.0/33 }' "$one"
file users 'users: [{ name: anna, memory: 64 }]' "$one"
file role 'hosts: [{ name: cp1, address: 192.0.2.1, role: master }]'
printf 'apiVersion: gpuadm/v9\nkind: GpuCluster\n%s\n' "$one" >api.yaml
: >empty.yaml
mkdir folder
printf 'pw' >pw
chmod 644 pw

count=0 wrong=0
while IFS=$'\t' read -r arguments status first rest; do
  case $arguments in '' | '#'*) continue ;; esac
  count=$((count + 1)) got=0
  read -ra words <<<"$arguments"
  "$GPUADM" "${words[@]}" >out 2>err </dev/null || got=$?
  shown=$(head -n 1 err)
  [ -n "$shown" ] || shown=$(head -n 1 out)
  if [ "$got" != "$status" ] || [ "$shown" != "$first" ] || ! cat out err | grep -qF -- "$rest"; then
    wrong=$((wrong + 1))
    printf 'gpuadm %s\n  status %s, not %s\n  says:     %s\n  expected: %s\n  and then: %s\n' "$arguments" "$got" "$status" "$shown" "$first" "$rest"
  fi
done <"$top/tests/cases/mistakes/mistakes.tsv"
[ "$count" -ge 40 ] || fail "only $count mistakes"
[ "$wrong" = 0 ] || fail "$wrong of $count mistakes have another answer"
