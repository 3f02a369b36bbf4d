#!/usr/bin/env bash
# JUnit, HTML and Prometheus; only what is new since a baseline; what makes it exit 3.
. "$(dirname "$0")/common"

mkdir bad && gpuadm facts -o probe >bad/probe.txt
sed -i 's/^| net.ipv4.ip_forward .*/| net.ipv4.ip_forward 0/; /^=== \/proc\/swaps/,/^===/{s/^| \/.*//; /^=== \/proc\/swaps/a | /swapfile file 65536 0 -2
}' bad/probe.txt
exits 0 gpuadm doctor --from bad --only host.disk.swap-on --fail-on never -o json
cp out baseline.json
jq -e '.findings | length == 1' out
exits 0 gpuadm doctor --from bad --only host.disk.swap-on --baseline baseline.json -o json --fail-on note
jq -e '.findings | length == 0' out
exits 3 gpuadm doctor --from bad --only host.disk.swap-on --fail-on note
echo '{}' >empty.json
exits 2 gpuadm doctor --from bad --baseline empty.json
exits 0 gpuadm doctor --from bad --fail-on never -o junit
says '<testsuite name="bad"'
exits 0 gpuadm doctor --from bad --fail-on never -o html
says '<!DOCTYPE html>'
exits 0 gpuadm doctor --from bad --fail-on never -o prometheus
says 'gpuadm_checks{host="bad",result="pass"}'
