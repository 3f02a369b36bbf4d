#!/usr/bin/env bash
# `swap: "off"` removes every source of swap that systemd knows: /etc/fstab, an administrator's unit, one that a generator makes from the partition
# table (here: a generator of the test), zram-generator and zramswap. Undo restores them.
. "$(dirname "$0")/common"

a_host node --swap
on node bash -s <<'END'
mkdir -p /etc/systemd/system-generators
printf '[Swap]\nWhat=/dev/lab\n' >/root/dev-lab.swap
printf '#!/bin/sh\ncp /root/dev-lab.swap "$1/dev-lab.swap"\n' >/etc/systemd/system-generators/lab
chmod +x /etc/systemd/system-generators/lab
sed -i '/^\/swapfile/d' /etc/fstab
printf '[Swap]\nWhat=/swapfile\n[Install]\nWantedBy=swap.target\n' >/etc/systemd/system/swapfile.swap
printf '[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/zramswap.service
printf '[zram0]\n' >/usr/lib/systemd/zram-generator.conf
systemctl daemon-reload
systemctl enable --quiet swapfile.swap
systemctl enable --quiet --now zramswap.service
END
printf 'swap: "off"\n' >>cluster.yaml
# shellcheck disable=SC2016 # expanded where it runs
states() {
  on node 'for unit in swapfile.swap dev-lab.swap zramswap.service; do echo "$unit $(systemctl is-enabled $unit 2>/dev/null) $(systemctl is-active $unit)"; done
    cat /etc/systemd/zram-generator.conf 2>/dev/null || echo no file; awk "NR > 1 { print \$1 }" /proc/swaps'
}
states >before
exits 0 gpuadm init -f cluster.yaml --bundle "$bundle" --phases os/swap -y
[ "$(states)" = "swapfile.swap disabled inactive
dev-lab.swap masked inactive
zramswap.service disabled inactive
# Written by gpuadm: no swap in compressed memory. This file replaces that of the same name in /usr/lib." ] || fail "$(states)"
changes_nothing gpuadm init -f cluster.yaml --bundle "$bundle" --phases os/swap -y
exits 0 gpuadm doctor -f cluster.yaml --only host.disk.swap-on
says "1 passed"
exits 0 gpuadm undo -f cluster.yaml --all -y
diff before <(states) || fail "undo left something"
