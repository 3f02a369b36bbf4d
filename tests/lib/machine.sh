# shellcheck shell=bash disable=SC2034
# What tests/run, tests/demo and .ci/run share: packages, the cache, the build. Expects $top, the source tree.

export GPUADM_CACHE=${GPUADM_CACHE:-/var/cache/gpuadm}
build=${GPUADM_BUILD:-$top/build}

BUILD_PACKAGES=(g++ cmake ninja-build pkg-config mold ccache libssh2-1-dev libyaml-cpp-dev nlohmann-json3-dev libtomlplusplus-dev
  libcli11-dev libfmt-dev libssl-dev libarchive-dev libzstd-dev zlib1g-dev liblzma-dev libcurl4-openssl-dev doctest-dev)
TEST_PACKAGES=(clang-format-19 shellcheck jq openssh-server openssh-client sudo git iproute2 procps util-linux
  tmux zsh fish mandoc man-db python3-jsonschema python3-yaml gnupg gpgv curl openssl xz-utils)
CI_PACKAGES=(clang-tidy-19 clang-19 libclang-rt-19-dev)
BROWSER_PACKAGES=(chromium chromium-driver)

say() { printf '%s\n' "$*" >&2; }

# Those of the packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
  done
}

# Installs what is missing. Without root: says what to type, and fails.
need_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    say "missing packages; as root: apt-get install ${missing[*]}"
    return 1
  fi
  say "installing ${missing[*]}"
  apt-get -q update >&2 &&
    DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" >&2
}

# Configures and builds: build_tree FOLDER TARGET... -- CMAKE-OPTION...
# A new folder becomes a unity build, of which the whole takes a quarter of the time, and a change somewhat longer.
build_tree() {
  local folder=$1 targets=() options=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do targets+=("$1") && shift; done
  [ $# -eq 0 ] || { shift && options=("$@"); }
  [ -e "$folder/CMakeCache.txt" ] || options=(-DCMAKE_UNITY_BUILD=ON "${options[@]}")
  if [ "$(id -u)" = 0 ] && mkdir -p "$GPUADM_CACHE/ccache" 2>/dev/null; then
    export CCACHE_DIR=${CCACHE_DIR:-$GPUADM_CACHE/ccache}
  fi
  cmake -S "$top" -B "$folder" -G Ninja -DGPUADM_WERROR=ON -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold "${options[@]}" >"$folder.log" 2>&1 &&
    ninja -C "$folder" "${targets[@]}" >>"$folder.log" 2>&1 && rm "$folder.log" && return 0
  grep -E -A12 'error|FAILED|CMake Error' "$folder.log" | head -n 60 >&2
  say "the build failed; all of its output: $folder.log"
  return 1
}

# What sudo made belongs to who called it, so that work continues without root.
hand_over() {
  [ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$@" 2>/dev/null || true
}
