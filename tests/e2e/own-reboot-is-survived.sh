#!/usr/bin/env bash
# gpuadm runs on the machine that must be rebooted: it reports that, releases the lock, reboots the machine, and continues by itself at the
# next boot, once. What it said there is in the run's folder.
. "$(dirname "$0")/common"

lab up desk --image bookworm-bare # the release that gpuadm was built on; Kubernetes has no part in this
mkdir lib
ldd "$GPUADM" | awk '$2 == "=>" { print $3 }' | xargs -I{} cp -L {} lib/
cp "$GPUADM" lib/gpuadm
cat >lib/cluster.yaml <<'END'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
name: desk
hosts: [{ name: desk, local: true }]
END
cat >lib/kernel.yaml <<'Y'
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
            [ "$(cat /var/tmp/booted-as 2>/dev/null)" = "$(boot_id)" ] || exit 1
          # The stand-in for a boot loader: a unit of the next boot.
          apply: |
            content="[Service]
            Type=oneshot
            ExecStart=/bin/cp /proc/sys/kernel/random/boot_id /var/tmp/booted-as
            [Install]
            WantedBy=multi-user.target
            "
            file_put /etc/systemd/system/booted-as.service 0644
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
            cat /var/tmp/booted-as >/etc/behind
            printf '%s %s\n' "$HOME" "${SUDO_USER:-}" >/var/tmp/who
Y
tar -C lib -cf - . | on desk 'mkdir -p /opt/gpuadm && tar -C /opt/gpuadm -xf - && mkdir -p "/opt/it'"'"'s here" && mv /opt/gpuadm/*.yaml "/opt/it'"'"'s here/" &&
  echo /opt/gpuadm >/etc/ld.so.conf.d/gpuadm-lab.conf && ldconfig'
# As one works at a desk: in a folder, with relative names.
desk() { on desk "cd \"/opt/it's here\" && /opt/gpuadm/gpuadm $*"; }
boot() { on desk cat /proc/sys/kernel/random/boot_id; }
boot >before

exits 1 desk playbook run kernel.yaml -f cluster.yaml --no-reboot -y
says "run systemctl reboot on desk, then the same command again"
on desk '[ ! -e /etc/systemd/system/gpuadm-resume.service ]' || fail "it would continue anyway"
exits 1 on desk "cd \"/opt/it's here\" && SUDO_USER=gpu /opt/gpuadm/gpuadm playbook run kernel.yaml -f cluster.yaml -y"
says "gpuadm continues at the next boot"
grep -qF "gpuadm continues after that: tail -f /root/.local/state/gpuadm/desk/" out err || fail "it does not say where it continues"
deadline=$((SECONDS + 180))
until on desk '[ -e /etc/behind ]' 2>/dev/null; do
  [ "$SECONDS" -lt "$deadline" ] || fail "gpuadm did not continue: $(on desk 'cat /root/.local/state/gpuadm/desk/*/resumed.log; journalctl -u gpuadm-resume --no-pager' 2>&1)"
  sleep 1
done
[ "$(boot)" != "$(cat before)" ] || fail "the machine was not rebooted"
[ "$(on desk cat /var/tmp/who)" = "/root gpu" ] || fail "it continues as another user: $(on desk cat /var/tmp/who)"
[ "$(on desk cat /etc/behind)" = "$(boot)" ] || fail "what comes behind the reboot was done before it"
until on desk 'grep -q "2 changed\|1 changed" /root/.local/state/gpuadm/desk/*/resumed.log && [ ! -e /var/lib/gpuadm/lock ]'; do
  [ "$SECONDS" -lt "$deadline" ] || fail "it did not end: $(on desk 'cat /root/.local/state/gpuadm/desk/*/resumed.log')"
  sleep 1
done
[ "$(on desk 'stat -c %a /root/.local/state/gpuadm/desk/*/resumed.log')" = 600 ] || fail "others may read what it said"
on desk '[ ! -e /etc/systemd/system/gpuadm-resume.service ] && [ ! -e /var/lib/gpuadm/resume ] && ! systemctl is-enabled --quiet gpuadm-resume.service 2>/dev/null' ||
  fail "the next boot would do it again"
exits 0 desk playbook run kernel.yaml -f cluster.yaml -y
says "nothing to do"
exits 0 desk undo -f cluster.yaml --all -y
on desk '[ ! -e /etc/behind ] && [ ! -e /etc/systemd/system/booted-as.service ]' || fail "undo left something"
