#!/usr/bin/env bash
# `gpuadm runtime preview` names the place of what is wrong, and shows diffs of what is right.
. "$(dirname "$0")/common"

printf 'version = 2\n[grpc]\n  uid = 0\n[grpc]\n' >twice.toml
exits 1 gpuadm runtime preview --config twice.toml || :
complains "twice.toml:4:"
printf '{ "half": ' >half.json
exits 1 gpuadm runtime preview --engine docker --config half.json || :
complains "half.json:1:"
printf 'version = 9\n' >v9.toml
exits 1 gpuadm runtime preview --config v9.toml
complains "v9.toml:1:11: "
hides "localhost|/etc/containerd"
echo '[1]' >arr.json
exits 1 gpuadm runtime preview --engine docker --config arr.json
complains "arr.json: "
hides "localhost|/etc/docker"
mkdir imports
printf 'version = 9\n' >imports/nine.toml
printf 'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\n' >importing.toml
exits 1 gpuadm runtime preview --config importing.toml --imports imports
complains "imports/nine.toml:1:11: "
exits 2 gpuadm runtime preview --config v9.toml --imports v9.toml
complains "--imports v9.toml: not a directory"
exits 2 gpuadm runtime preview --engine containerd --engine-version new
exits 2 gpuadm runtime preview --engine podman

printf 'version = 2\nroot = "/disk"\n' >config.toml
exits 0 gpuadm runtime preview --config config.toml --engine-version 1.7.24 --kubernetes-version 1.34
says "+++ /etc/containerd/config.toml"
says '+  SystemdCgroup = true'
says '+  enable_cdi = true'
says 'containerd then reads:'
says 'root = "/disk"'
exits 0 gpuadm runtime preview --engine docker --engine-version 20.10.24
says '"default-runtime": "nvidia"'
