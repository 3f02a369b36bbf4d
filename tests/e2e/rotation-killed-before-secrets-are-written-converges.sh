#!/usr/bin/env bash
# gpuadm certs rotate-encryption-key is killed in each phase before the Secrets are written again, together with its programs on the hosts. After each
# kill every API server reads every Secret, also one that was written meanwhile. The last run completes: all Secrets are encrypted with one
# key, which is the only one.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/rotation.sh
. "$top/tests/lib/rotation.sh"

killed_in new known first used
completes
