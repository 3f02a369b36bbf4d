#!/usr/bin/env bash
# Mistakes with options that the library of options reports: exit 2, and a sentence that an operator understands.
. "$(dirname "$0")/common"

exits 2 gpuadm doctor -f a -f b
complains "--file can be given only once"
exits 2 gpuadm doctor --only
complains "--only needs a value"
exits 2 gpuadm doctor --window abc
complains "--window: expected a number from 1 to 100000, got 'abc'"
exits 2 gpuadm config lint
complains "-f FILE is required"
exits 2 gpuadm init --driver install=foo
complains "expected use, install or install=BRANCH"
for group in gpu repair health storage train bundle; do
  exits 2 gpuadm "$group"
  complains "Usage: gpuadm $group"
done

# The first reason counts: the bundle does not exist.
exits 2 gpuadm init --bundle nothere
complains "nothere: No such file or directory"
! grep -q SIGNATURE err || fail "a bundle that does not exist is said not to be signed"
# An address in place of a network is one mistake.
printf '%s\n' 'apiVersion: gpuadm/v1alpha1' 'kind: GpuCluster' 'network: { podCIDR: 10.244.0.0 }' 'hosts: [{ name: one, address: 192.0.2.1, role: controlPlane }]' >c.yaml
exits 2 gpuadm config lint -f c.yaml
complains "network.podCIDR: expected network such as 10.244.0.0/16, got '10.244.0.0'"
! grep -q /32 err || fail "an address is said to be a network"

# A key that does not sign is found before a download.
sed -i 's/10.244.0.0 /10.244.0.0\/16 /' c.yaml
exits 2 gpuadm bundle create --for c.yaml --kubernetes-version 1.36.2 --source http://192.0.2.1:9 --sign nothere -o b
complains "cannot sign with"
complains "nothere"
