#!/usr/bin/env bash
# A value that an option cannot have: exit 2, naming both.
. "$(dirname "$0")/common"

exits 2 gpuadm doctor -o yaml
complains "--output"
complains "yaml"
exits 2 gpuadm facts --port 99999
complains "--port"
exits 2 gpuadm init --dry-run -y
complains "--dry-run"
