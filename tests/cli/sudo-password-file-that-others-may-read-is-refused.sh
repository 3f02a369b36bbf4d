#!/usr/bin/env bash
# Exit 2, and the chmod to type.
. "$(dirname "$0")/common"

echo secret >password
chmod 644 password
exits 2 gpuadm facts --sudo-password-file password
complains "chmod 600"
hides secret
