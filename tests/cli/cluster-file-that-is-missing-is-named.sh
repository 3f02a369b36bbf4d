#!/usr/bin/env bash
# A cluster file that cannot be read: its name, the reason, what to type, exit 2.
. "$(dirname "$0")/common"

exits 2 gpuadm doctor -f nowhere.yaml
complains "nowhere.yaml"
complains "create one with gpuadm config init"

mkdir folder
exits 2 gpuadm config lint -f folder
complains "folder: Is a directory"
complains "-f 'folder/cluster.yaml'"
hides "config init"
head -c 1100000 /dev/zero | tr '\0' '#' >large.yaml
exits 2 gpuadm config lint -f large.yaml
complains "large.yaml: larger than 1048576 bytes"
hides "config init"
