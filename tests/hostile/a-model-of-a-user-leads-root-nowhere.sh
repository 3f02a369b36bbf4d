#!/usr/bin/env bash
# The files of a model in a claim that users may write to: root reads no file through a link, no FIFO and no device, and stays in the
# folder, also if a user replaces what is in it meanwhile. What is printed is bounded.
. "$(dirname "$0")/common"

folder=$place/share
claim=$folder/gpuadm-data/claims/default/models
mkdir -p "$claim" root-only && chmod 0700 "$folder/gpuadm-data" root-only && chmod 0777 "$claim"
printf 'root: what nobody else may read\n' >root-only/config.json
# A pod has the folder without those above it, and so has a process that was started in it.
pod() { (cd "$claim" && as "$mallory" -- sh -c "$1" sh "$place/root-only" "$place/goes-on"); }
looks() { # looks PATH [FILES]
  status=0
  storage_name=data storage_kind=path storage_place=$folder model_folder=gpuadm-data/claims/default/$1 model_files=${2:-} \
    json_bytes=1000 index_bytes=1000 header_bytes=10000 gguf_bytes=2000 timeout 30 sh "$playbooks/read/model.sh" >out 2>err || status=$?
  ! grep -qa 'what nobody else may read' out err || fail "a file of root was read"
}

# --- A model ------------------------------------------------------------------------------------------------
# shellcheck disable=SC2016 # of the inner shells
pod 'mkdir m && printf "{}" >m/config.json && printf "\062\0\0\0\0\0\0\0{%05000d" 0 >m/a.safetensors &&
  printf "\377\377\377\377\377\377\377\377{" >m/b.safetensors && head -c 5000 /dev/zero >m/x.gguf'
looks models/m
[ "$status" = 0 ] || fail "a model was not read"
for line in 'file 2 2 config.json' 'file 5009 4096 a.safetensors' 'file 9 9 b.safetensors' 'file 5000 2000 x.gguf'; do
  grep -qaF "$line" out || fail "not printed: $line"
done
tail -n 1 out | grep -qa 'end$' || fail "the answer has no end"
[ "$(stat -c %s out)" -lt 7000 ] || fail "the answer is larger than its limits"
looks models/m x.gguf
[ "$status" = 0 ] || fail "the named file was not read"
! grep -qa config.json out || fail "more than the named file was read"
looks models/none
[ "$status" = 4 ] || fail "a folder that does not exist was found"
complains 'models/none does not exist'

# --- Links and FIFOs ----------------------------------------------------------------------------------------
# shellcheck disable=SC2016
pod 'ln -sf "$1/config.json" m/config.json'
looks models/m
[ "$status" = 3 ] || fail "a link was followed"
complains 'config.json is a symbolic link'
pod 'rm m/config.json && mkfifo m/config.json'
looks models/m
[ "$status" = 3 ] || fail "a FIFO was opened"
complains 'config.json is not a regular file'
# shellcheck disable=SC2016
pod 'rm m/config.json && ln -s "$1" linked'
looks models/linked
[ "$status" = 3 ] || fail "a linked folder was entered"
complains 'linked is a symbolic link'

# --- What is replaced meanwhile -------------------------------------------------------------------------------
# shellcheck disable=SC2016
pod 'printf "{}" >real; ln -s "$1/config.json" bad
  while [ -e "$2" ]; do cp real m/n; mv -fT m/n m/config.json; cp -P bad m/n; mv -fT m/n m/config.json; done' 2>/dev/null &
for _ in $(seq "${GPUADM_TRIES:-15}"); do looks models/m config.json; done
rm goes-on && wait
: >goes-on
# shellcheck disable=SC2016
pod 'mkdir folder && printf "{}" >folder/config.json
  while [ -e "$2" ]; do mv -T folder swapped; mv -T swapped folder; ln -s "$1" swapped; rm swapped; done' 2>/dev/null &
for _ in $(seq "${GPUADM_TRIES:-15}"); do looks models/swapped; done
