#!/usr/bin/env bash
# A complete line is typed with tabs into a real zsh, without errors from it.
. "$(dirname "$0")/common"
. "$top/tests/lib/shells.sh"

gpuadm completion zsh >_gpuadm
zsh -f -n _gpuadm
touch cluster.yaml
# shellcheck disable=SC2016 # zsh expands it
setup='fpath=(. $fpath); autoload -Uz compinit; compinit -u -D; PS1="re""ady> "'
type_into 'zsh -f -i' "$setup" "gpuadm conf${tab}sche${tab}>typed"
jq -e .title typed
type_into 'zsh -f -i' "$setup" "gpuadm doctor --dem${tab} -o js${tab}>typed"
jq -e 'length > 100' typed
type_into 'zsh -f -i' "$setup" "gpuadm doctor --demo swap-came-back --only host.os.sup${tab},host.disk.sw${tab} -o json >typed || :"
jq -e '[.findings[].id] | index("host.disk.swap-on")' typed
