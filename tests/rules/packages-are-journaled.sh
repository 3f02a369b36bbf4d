#!/usr/bin/env bash
# Steps install packages only by the functions of playbooks/package-managers.sh, which record the dependencies, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
! git grep -nE '\b(apt-get|dnf) (-[^ ]+ )*(install|upgrade|remove|purge)\b' -- playbooks ':!playbooks/package-managers.sh'
