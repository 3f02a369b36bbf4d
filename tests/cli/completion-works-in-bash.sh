#!/usr/bin/env bash
# What bash offers where a tab is hit, and a whole line that is typed with tabs into a real one.
. "$(dirname "$0")/common"
. "$top/tests/lib/shells.sh"

gpuadm completion bash >script
bash -n script

# offers WORD LINE: among what bash would offer at the end of the line.
offers() {
  local want=$1
  shift
  bash --norc --noprofile -c '. ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuadm; printf "%s\n" "${COMPREPLY[@]}"' \
    gpuadm "$@" >out 2>err
  grep -qxF -- "$want" out || fail "bash does not offer $want after: $*"
}

offers doctor gpuadm ''
offers lint gpuadm config ''
offers --dry-run gpuadm init --dr
offers --no-color gpuadm doctor --no
offers json gpuadm doctor -o j
offers prometheus gpuadm doctor --output = prom
offers node gpuadm doctor --stage ''
offers json gpuadm status --output =
offers prometheus gpuadm addon enable prom
offers jupyterhub gpuadm addon show ''
offers no-driver gpuadm doctor --demo no-d
offers gpu.driver.smi-runs gpuadm explain gpu.driver.smi
offers train.all-reduce gpuadm explain train.all
offers train.shm gpuadm train check --ignore train.sh
offers pod gpuadm explain po
offers host.os.supported,host.os.immutable gpuadm doctor --only host.os.supported,host.os.imm
offers network.podCIDR gpuadm config explain network.p
touch cluster.yaml
offers cluster.yaml gpuadm init -f clu
offers cluster.yaml gpuadm --assets . config lint clu
offers cluster.yaml gpuadm init --bundle clu
offers cluster.yaml gpuadm bundle create --for clu
offers cluster.yaml gpuadm bundle diff clu
offers cluster.yaml gpuadm bundle diff cluster.yaml clu
offers public gpuadm bundle create --source pu

type_into 'bash --norc --noprofile -i' '. ./script; PS1="re""ady> "' "gpuadm conf${tab} sche${tab} >typed"
jq -e .title typed
