#!/usr/bin/env bash
# A fresh host becomes a cluster with real pods; a second init changes and restarts nothing.
. "$(dirname "$0")/common"

a_host node
exits 0 init -y
has_a_cluster node

before=$(units node)
exits 0 init -y
says "0 changed"
[ "$(units node)" = "$before" ] || fail "units were restarted"

# What the doctor says of a healthy node and cluster: nothing that stands in the way.
exits 0 gpuadm doctor -f cluster.yaml --stage node --fail-on blocker
exits 0 gpuadm doctor -f cluster.yaml --stage cluster --fail-on warning
