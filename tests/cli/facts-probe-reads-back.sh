#!/usr/bin/env bash
# -o probe prints the text that facts are read from, of one host.
. "$(dirname "$0")/common"

exits 0 gpuadm facts -o probe
says "gpuadm"
[ "$(wc -l <out)" -gt 50 ]
exits 2 gpuadm facts -o probe a.example b.example
complains "one host"
