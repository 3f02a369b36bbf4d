#!/usr/bin/env bash
# A step that holds only after a reboot: with --no-reboot the run stops there and says what to type; without, it reboots the hosts
# itself, the control plane of a cluster among them, waits, still holds their locks, and continues with the rest.
. "$(dirname "$0")/common"

hosts 1 one two
sed '/name: two/d' cluster.yaml >alone.yaml
exits 0 gpuadm init -f alone.yaml --bundle "$bundle" -y
boots() { on "$1" cat /proc/sys/kernel/random/boot_id; }
boots one >one.before
boots two >two.before
cat >kernel.yaml <<'Y'
id: kernel
title: Something that is read at boot
phases:
  - phase: kernel/argument
    title: What the kernel reads at boot
    steps:
      - id: kernel.argument
        title: The host has booted with it
        timeout: 60
        shell:
          check: |
            [ "$(cat /etc/booted-as 2>/dev/null)" = "$(boot_id)" ] || exit 1
          # The stand-in for a boot loader: a unit of the next boot.
          apply: |
            content="[Service]
            Type=oneshot
            ExecStart=/bin/cp /proc/sys/kernel/random/boot_id /etc/booted-as
            [Install]
            WantedBy=multi-user.target
            "
            file_put /etc/systemd/system/booted-as.service 0644
            journal_file /etc/booted-as
            systemctl enable --quiet booted-as.service
          needs_reboot: |
            say "what was written is read at boot"
      - id: kernel.behind
        title: What comes behind it
        shell:
          check: |
            [ -e /etc/behind ] || exit 1
          apply: |
            journal_file /etc/behind
            cat /etc/booted-as >/etc/behind
Y
play() { gpuadm playbook run kernel.yaml -f cluster.yaml "$@"; }

exits 0 play --dry-run
says "reboots if required: one (The host has booted with it), two (The host has booted with it)"
exits 1 play --no-reboot -y
says "run systemctl reboot on two, then the same command again"
[ "$(boots one)" = "$(cat one.before)" ] || fail "it was rebooted anyway"

exits 0 play -y
says "the host has rebooted"
for host in one two; do
  [ "$(boots "$host")" != "$(cat "$host.before")" ] || fail "$host was not rebooted"
  [ "$(on "$host" cat /etc/behind)" = "$(boots "$host")" ] || fail "what comes behind the reboot was not done on $host"
  if on "$host" test -e /var/lib/gpuadm/lock; then fail "the lock of $host is left"; fi
done
events | grep >/dev/null '"did":"waiting".*at most 1200s' || fail "it does not say for how long it waits"
exits 0 play -y
says "nothing to do"
has_a_cluster one

# A reboot that does not end within the run: the next run continues.
on two rm /etc/booted-as
begins playbook run kernel.yaml -f cluster.yaml -y
until grep -q "rebooting the host" out; do kill -0 "$running" || fail "no reboot was begun"; sleep 0.2; done
kill -KILL "$running"
wait "$running" || true
within 240 "the run that continues" play -y
exits 0 play -y
says "nothing to do"
