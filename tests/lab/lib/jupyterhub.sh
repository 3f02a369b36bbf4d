# shellcheck shell=bash
# One image with JupyterHub, its proxy, and the server that it starts for users.

jupyterhub_packages() {
  debian_packages "$1" jupyterhub,node-configurable-http-proxy,python3-jupyter-server,python3-notebook,python3-ipykernel,coreutils,dash --variant=extract
}

# Packages are unpacked and not installed: what their scripts would make is made here. HOME is /root for every user of a lab's image.
jupyterhub_prepare() {
  local folder
  for folder in bin sbin lib lib64; do [ -e "$1/$folder" ] || ln -s "usr/$folder" "$1/$folder"; done
  mkdir -p "$1"/{root,tmp,etc,home/jovyan,srv/jupyterhub}
  chmod 1777 "$1/tmp" "$1/root" "$1/home/jovyan"
  printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'jovyan:x:1000:100:jovyan:/home/jovyan:/bin/sh' >"$1/etc/passwd"
  printf '%s\n' 'root:x:0:' 'users:x:100:' >"$1/etc/group"
  [ -e "$1/usr/bin/sh" ] || ln -s dash "$1/usr/bin/sh"
}
