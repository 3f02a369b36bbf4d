# shellcheck shell=bash
# An image with Jupyter.

notebook_packages() {
  debian_packages "$1" python3-notebook,python3-ipykernel,coreutils,dash,findutils,grep,sed --variant=extract
}

# Packages are unpacked and not installed: what their scripts would make is made here.
notebook_prepare() {
  local folder
  for folder in bin sbin lib lib64; do [ -e "$1/$folder" ] || ln -s "usr/$folder" "$1/$folder"; done
  mkdir -p "$1"/{root,tmp,etc,home/jovyan/work}
  chmod 1777 "$1/tmp"
  echo 'root:x:0:0:root:/root:/bin/sh' >"$1/etc/passwd"
  echo 'root:x:0:' >"$1/etc/group"
  [ -e "$1/usr/bin/sh" ] || ln -s dash "$1/usr/bin/sh"
}
