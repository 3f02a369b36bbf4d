#!/usr/bin/env bash
# A playbook of one's own: a file lands on the host; run again, nothing changes.
. "$(dirname "$0")/common"

a_host node
cat >motd.yaml <<'Y'
id: motd
title: A greeting
phases:
  - phase: greet
    title: Greet
    steps:
      - id: greet.motd
        title: The greeting is there
        file: { path: /etc/motd, content: "hello\n" }
Y
exits 0 gpuadm playbook run motd.yaml -f cluster.yaml -y
[ "$(on node cat /etc/motd)" = hello ]
exits 0 gpuadm playbook run motd.yaml -f cluster.yaml -y
says "0 changed"
