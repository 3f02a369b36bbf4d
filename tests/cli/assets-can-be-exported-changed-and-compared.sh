#!/usr/bin/env bash
# An override is listed with its file, shown, and compared with what it replaces.
. "$(dirname "$0")/common"

exits 0 gpuadm assets export all
echo "# mine" >>all/playbooks/catalog.yaml
exits 0 gpuadm --assets all assets list
says "$place/all/playbooks/catalog.yaml"
exits 0 gpuadm --assets all assets diff
says "+# mine"
exits 0 gpuadm assets diff
[ ! -s out ]
exits 2 gpuadm assets export all
exits 2 gpuadm assets show playbooks/catlog.yaml
complains "did you mean playbooks/catalog.yaml?"
