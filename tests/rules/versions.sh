#!/usr/bin/env bash
# Version numbers of what is installed stand in playbooks/catalog.yaml and nowhere else.
# k8s:enc:PROVIDER:v1: is the prefix of encrypted records in etcd, not an image version.
set -euo pipefail
cd "$(dirname "$0")/../.."
version='(^|[^0-9.])v?[0-9]+\.[0-9]+\.[0-9]+([^0-9.]|$)|[a-z]:v[0-9]'
grep -qE "$version" playbooks/catalog.yaml || { echo "playbooks/catalog.yaml has no version" >&2 && exit 1; }
mapfile -t files < <(git ls-files playbooks templates | grep -vxF playbooks/catalog.yaml)
[ "${#files[@]}" -gt 100 ] || { echo "only ${#files[@]} files found in playbooks/ and templates/" >&2 && exit 1; }
! grep -nE "$version" "${files[@]}" | grep -vE 'cniVersion|k8s:enc:|:[0-9]+: *#'
