#!/usr/bin/env bash
# Version numbers of what is installed stand in playbooks/catalog.yaml and nowhere else.
# k8s:enc:PROVIDER:v1: is the prefix of encrypted records in etcd, not an image version.
set -euo pipefail
cd "$(dirname "$0")/../.."
! git ls-files playbooks templates | grep -v '^playbooks/catalog.yaml$' |
  xargs grep -nE '(^|[^0-9.])v?[0-9]+\.[0-9]+\.[0-9]+([^0-9.]|$)|[a-z]:v[0-9]' |
  grep -vE 'cniVersion|k8s:enc:|:[0-9]+: *#'
