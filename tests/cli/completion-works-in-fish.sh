#!/usr/bin/env bash
# What a real fish offers.
. "$(dirname "$0")/common"

gpuadm completion fish >script.fish
export XDG_CONFIG_HOME=$place/config XDG_DATA_HOME=$place/data

offers() { # offers WORD LINE
  fish --no-config -c "source script.fish; complete -C '$2'" >out 2>err
  cut -f1 out | grep -qxF -- "$1" || fail "fish does not offer $1 after: $2"
  [ ! -s err ] || fail 'fish complains'
}

offers doctor 'gpuadm '
offers lint 'gpuadm config '
offers --dry-run 'gpuadm init --dr'
offers json 'gpuadm doctor -o '
offers gpu.driver.smi-runs 'gpuadm explain gpu.driver.smi'
offers train.all-reduce 'gpuadm explain train.all'
offers train.shm 'gpuadm train check --ignore train.sh'
offers pod 'gpuadm explain po'
offers network.podCIDR 'gpuadm config explain network.p'
touch cluster.yaml
offers cluster.yaml 'gpuadm init -f clu'
