#!/usr/bin/env bash
# A file called `password` or `token` is named in full, with the reason; what it contains is not shown.
. "$(dirname "$0")/common"

exits 2 gpuadm facts --sudo-password-file "$place/password"
complains "$place/password: No such file or directory"
echo hunter2 >password
chmod 644 password
exits 2 gpuadm facts --sudo-password-file password
complains "password: other users can read it (mode 0644)"
hides hunter2
: >token
exits 2 gpuadm config lint -f token
complains "token:1:1: cluster file: expected map"
exits 2 gpuadm support -o token
complains "token: already exists"
mkdir secret
exits 2 gpuadm doctor --from secret
complains "secret: not a recording"
echo x >secret/x
exits 2 gpuadm doctor --record secret
complains "--record secret: not empty"
exits 2 gpuadm train run demo --src /etc/passwd --image registry.example/train:1 -- true
complains "--src /etc/passwd: not a directory"
hides '\*\*\*'
