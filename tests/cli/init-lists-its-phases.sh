#!/usr/bin/env bash
# --list-phases shows them in order, and connects to nothing.
. "$(dirname "$0")/common"

exits 0 gpuadm init --list-phases nobody@127.0.0.1:1
[ "$(grep -nE 'os/swap|runtime/config|kube/init' out | sed 's/[: ].*//' | sort -nc 2>&1)" = "" ]
says "kube/init"
says "network/cluster"
