# shellcheck shell=bash
# An image with Prometheus.

prometheus_packages() { debian_packages "$1" prometheus,coreutils --variant=extract; }

prometheus_prepare() {
  local folder
  for folder in bin sbin lib lib64; do [ -e "$1/$folder" ] || ln -s "usr/$folder" "$1/$folder"; done
  rm -rf "$1/usr/share/javascript" "$1/usr/bin/promtool"
  mkdir -p "$1/etc" "$1/prometheus"
  echo 'nobody:x:65534:65534:nobody:/:/bin/false' >"$1/etc/passwd"
}
