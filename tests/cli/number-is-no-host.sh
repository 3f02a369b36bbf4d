#!/usr/bin/env bash
# A number is not a host: the C library would make an Internet address of it. An option whose value must be attached is named.
. "$(dirname "$0")/common"

exits 2 gpuadm facts 5
complains "invalid host '5': an incomplete IPv4 address"
exits 2 gpuadm facts root@1.7:22
exits 2 gpuadm facts 0x7f.1
exits 2 gpuadm upgrade --runtime 1.7 a.invalid
complains "did you mean --runtime=1.7?"
exits 2 gpuadm upgrade a.invalid --driver 580
complains "did you mean --driver=580?"
exits 2 gpuadm upgrade --toolkit 1.17.8
complains "did you mean --toolkit=1.17.8?"
exits 2 gpuadm doctor --watch 5 a.invalid
complains "did you mean --watch=5?"
exits 2 gpuadm status --watch 2
complains "did you mean --watch=2?"
exits 2 gpuadm status --watch=2 5
complains "write [user@]host[:port]"

# A file may name a host by a number, with an address.
printf '%s\n' 'apiVersion: gpuadm/v1alpha1' 'kind: GpuCluster' 'hosts: [{ name: "5", address: 127.0.0.1, port: 1, user: me }, { name: "6", address: 127.0.0.2, port: 1, user: me, role: worker }]' >cluster.yaml
exits 4 gpuadm facts -f cluster.yaml 5 --ssh-client libssh2
complains "5: 127.0.0.1:1: connection refused"
exits 2 gpuadm status -f cluster.yaml --watch 2
complains "did you mean --watch=2?"
sed -i 's/address: 127.0.0.2, //' cluster.yaml
exits 2 gpuadm facts -f cluster.yaml 5
complains "hosts[].address: missing for 6, which is an incomplete IPv4 address"
sed -i 's/name: "6"/name: gpu1, address: "10.0.1"/' cluster.yaml
exits 2 gpuadm facts -f cluster.yaml 5
complains "hosts[].address: expected IP address or host name, got '10.0.1'"
