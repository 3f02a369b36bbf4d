#!/usr/bin/env bash
# Files and units of the host are the same before and after --dry-run, doctor and facts.
. "$(dirname "$0")/common"

# Left out: what containerd makes in its store when it is asked for its identity.
snapshot() { lab snapshot node | sed '/^store .*\/var\/lib\/containerd/d'; }

a_host node
snapshot >before
exits 0 init --dry-run
says "kubeadm init"
gpuadm doctor -f cluster.yaml >out 2>err || true
exits 0 gpuadm facts -f cluster.yaml
snapshot >after
diff before after
