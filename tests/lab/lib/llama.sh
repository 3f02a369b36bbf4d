# shellcheck shell=bash
# An image with llama-server of Debian's llama.cpp, at the path that ggml-org's image has, and a tiny model with random weights.

# Unstable, because no release of Debian has llama.cpp.
llama_packages() {
  mmdebstrap --mode=root --variant=extract --include=llama.cpp-tools,python3-gguf,coreutils,dash \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt=path-exclude='/usr/share/man/*' --dpkgopt=path-exclude='/usr/share/locale/*' --dpkgopt=path-exclude='/usr/share/doc/*' \
    sid "$1" "$LAB_MIRROR"
}

# Packages are unpacked and not installed: what their scripts would make is made here. NumPy's libraries are alternatives.
llama_prepare() {
  local folder libraries=/usr/lib/x86_64-linux-gnu
  for folder in bin sbin lib lib64; do [ -e "$1/$folder" ] || ln -s "usr/$folder" "$1/$folder"; done
  mkdir -p "$1"/{root,tmp,etc,app,cache,model,usr/share/gpuadm}
  chmod 1777 "$1/tmp"
  printf 'root:x:0:0:root:/root:/bin/sh\nserve:x:1000:1000::/cache:/bin/sh\n' >"$1/etc/passwd"
  [ -e "$1/usr/bin/sh" ] || ln -s dash "$1/usr/bin/sh"
  ln -s ../usr/bin/llama-server "$1/app/llama-server"
  chroot "$1" env LD_LIBRARY_PATH="$libraries/blas:$libraries/lapack" HOME=/root /usr/bin/python3 - /usr/share/gpuadm/tiny.gguf <"$LAB_HOME/../lib/tiny-gguf"
  rm -rf "$1"/usr/lib/python3* "$1"/usr/bin/python3* "$1"/usr/share/python*
}
