#!/usr/bin/env bash
# The apt preferences in NVIDIA's package cuda-keyring are not signed: those that concern packages of other repositories are refused.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"

accepted() { in_step "preferences_are_nvidias $place/preferences"; }
cat >preferences <<'END'
Package: nsight-compute
Pin: origin *ubuntu.com*
Pin-Priority: -1

Package: nvidia-modprobe
Pin: release l=NVIDIA CUDA
Pin-Priority: 600

# all
Package: *
Pin: release l=NVIDIA CUDA
Pin-Priority: 100
END
exits 0 accepted
: >preferences
exits 0 accepted
stanza() { printf 'Package: %s\nPin: %s\nPin-Priority: %s\n' "$@"; }
stanza '*' 'release l=NVIDIA CUDA' 600 >preferences
exits 0 accepted
while IFS='|' read -r package pin priority; do
  stanza "$package" "$pin" "$priority" >preferences
  exits 1 accepted
done <<'END'
openssl|version *|-1
*|origin mirror.example|900
*|release l=NVIDIA CUDA|1001
nsight-compute openssl|origin *|-1
*|release l=NVIDIA CUDA, o=other|600
*|release l=NVIDIA CUDA|high
END
{
  stanza '*' 'release l=NVIDIA CUDA' 600
  printf ' more\n'
} >preferences
exits 1 accepted
{
  stanza '*' 'release l=NVIDIA CUDA' 600
  stanza openssl 'version *' -1
} >preferences
exits 1 accepted
