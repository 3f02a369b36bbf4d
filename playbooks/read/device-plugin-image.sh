# shellcheck shell=sh
# Prints the image in the device plugin's manifest that gpuadm wrote; nothing if there is none.
[ ! -f /etc/kubernetes/gpuadm/device-plugin.yaml ] ||
  sed -n 's/^ *\(- \)\{0,1\}image: *"\{0,1\}\([^" ]*\)"\{0,1\} *$/\2/p' /etc/kubernetes/gpuadm/device-plugin.yaml | head -n 1
