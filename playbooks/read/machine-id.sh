# shellcheck shell=sh
# Prints the host's machine id.
cat /etc/machine-id
