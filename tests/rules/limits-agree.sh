#!/usr/bin/env bash
# The limits that gpuadm init and doctor --fix raise are those that the checks recommend.
set -euo pipefail
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
wanted() { grep -oE "$1 = [0-9]+" "$top/src/checks/kernel/limits.hpp" | grep -oE '[0-9]+'; }
instances=$(wanted inotify_instances || true) watches=$(wanted inotify_watches || true) maps=$(wanted memory_maps || true)
for value in "$instances" "$watches" "$maps"; do [ -n "$value" ] || { echo "src/checks/kernel/limits.hpp lacks a limit" >&2 && exit 1; }; done
for file in playbooks/base/limits.yaml src/checks/kernel/limits.hpp data/checks/kernel.yaml; do
  for text in "max_user_instances.$instances" "max_user_watches.$watches"; do
    grep -q "$text" "$top/$file" || { echo "$file does not have $text" >&2 && exit 1; }
  done
done
[ "$(grep -c "vm.max_map_count $maps\$\|vm.max_map_count $maps " "$top/playbooks/base/limits.yaml")" -eq 2 ] ||
  { echo "playbooks/base/limits.yaml does not raise vm.max_map_count to $maps" >&2 && exit 1; }
