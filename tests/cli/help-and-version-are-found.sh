#!/usr/bin/env bash
# --version, help COMMAND and the line that installs completion.
. "$(dirname "$0")/common"

exits 0 gpuadm --version
[ "$(cat out)" = "$(gpuadm version)" ] || fail "--version says something else"
exits 0 gpuadm help
says 'Usage: gpuadm'
exits 0 gpuadm help doctor
[ "$(cat out)" = "$(gpuadm doctor --help)" ] || fail "help doctor is not doctor --help"
exits 0 gpuadm help etcd restore
says 'Usage: gpuadm etcd restore'
exits 2 gpuadm help docter
complains 'did you mean doctor?'
for shell in bash zsh fish; do
  exits 0 gpuadm completion "$shell"
  says '# To install it for yourself: '
done
exits 0 gpuadm init --help
says '--diff'
exits 0 gpuadm logs --help
says '-n, --lines'
