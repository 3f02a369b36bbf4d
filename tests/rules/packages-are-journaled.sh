#!/usr/bin/env bash
# Steps install packages only by the functions of playbooks/package-managers.sh, which record the dependencies, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
installs='\b(apt-get|dnf) (-[^ ]+ )*(install|upgrade|remove|purge)\b'
grep -qE "$installs" playbooks/package-managers.sh || { echo "playbooks/package-managers.sh installs nothing" >&2 && exit 1; }
mapfile -t files < <(git ls-files playbooks | grep -vxF playbooks/package-managers.sh)
[ "${#files[@]}" -gt 100 ] || { echo "only ${#files[@]} files found in playbooks/" >&2 && exit 1; }
! grep -nE "$installs" "${files[@]}"
