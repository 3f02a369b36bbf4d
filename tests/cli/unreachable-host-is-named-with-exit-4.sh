#!/usr/bin/env bash
# Nobody listens there: exit 4, and the host is named.
. "$(dirname "$0")/common"

exits 4 gpuadm facts --connect-timeout 5 nobody@127.0.0.1:1
complains "127.0.0.1"
exits 4 gpuadm doctor --connect-timeout 5 nobody@127.0.0.1:1
says "host.ssh.reachable"
