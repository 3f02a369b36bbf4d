#!/usr/bin/env bash
# Files and units of the host are the same before and after --dry-run, doctor and facts.
. "$(dirname "$0")/common"

a_host node
lab snapshot node >before
exits 0 init --dry-run
says "kubeadm init"
gpuadm doctor -f cluster.yaml >out 2>err || true
exits 0 gpuadm facts -f cluster.yaml
lab snapshot node >after
diff before after
