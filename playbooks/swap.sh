# shellcheck shell=sh
# What starts swap at boot other than /etc/fstab, loaded after prelude.sh.

# swap_zram_file: the configuration that systemd's zram-generator reads; zram-generator.conf(5) has the order of the folders.
swap_zram_file() {
  for gpuadm_file in /etc /run /usr/local/lib /usr/lib; do
    [ ! -e "$gpuadm_file/systemd/zram-generator.conf" ] || break
  done
  printf '%s\n' "$gpuadm_file/systemd/zram-generator.conf"
}
# swap_units: "UNIT STATE" of the swap units that systemd starts at boot. Those of /etc/fstab are not among them: an entry is removed from there.
swap_units() {
  systemctl list-unit-files --full --type=swap --no-legend 2>/dev/null | awk '$2 == "enabled" || $2 == "generated" { print $1, $2 }' |
    while read -r gpuadm_name gpuadm_state; do
      gpuadm_source=$(systemctl show --property SourcePath --value "$gpuadm_name")
      [ "$gpuadm_source" = /etc/fstab ] || printf '%s %s\n' "$gpuadm_name" "$gpuadm_state"
    done
}
