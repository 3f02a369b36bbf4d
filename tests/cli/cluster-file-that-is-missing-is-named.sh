#!/usr/bin/env bash
# A cluster file that cannot be read: its name, exit 2.
. "$(dirname "$0")/common"

exits 2 gpuadm doctor -f nowhere.yaml
complains "nowhere.yaml"
