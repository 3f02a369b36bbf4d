#!/usr/bin/env bash
# Version numbers of what is installed stand in playbooks/catalog.yaml and nowhere else.
set -euo pipefail
cd "$(dirname "$0")/../.."
! git ls-files playbooks templates | grep -v '^playbooks/catalog.yaml$' |
  xargs grep -nE '(^|[^0-9.])v?[0-9]+\.[0-9]+\.[0-9]+([^0-9.]|$)|[a-z]:v[0-9]' |
  grep -vE 'cniVersion|:[0-9]+: *#'
