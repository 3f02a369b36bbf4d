#!/usr/bin/env bash
# A host without a container runtime, and a bundle without one: refused before anything is changed, by init and by doctor in the same words.
. "$(dirname "$0")/common"

a_host node --image bookworm-bare
lab snapshot node | sort >before
exits 3 init -y
complains "rt.present: containerd is not installed, and the bundle does not contain it (node)"
complains "nothing was changed"
complains "run the same command again"
says "apt-get install containerd"
exits 3 gpuadm doctor -f cluster.yaml --bundle "$bundle"
says "containerd is not installed, and the bundle does not contain it"
lab snapshot node | sort >after
diff before after || fail "something was changed"
