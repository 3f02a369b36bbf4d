#!/usr/bin/env bash
# What `gpuadm repair address` does to a text: the old address becomes the new one, and longer ones that begin or end like it stay.
. "$(dirname "$0")/common"

becomes() { # becomes OLD NEW TEXT EXPECTED
  local got
  got=$(cd "$top/playbooks" && printf '%s\n' "$3" | old=$1 new=$2 sh -c '
    gpuadm_run=r gpuadm_step=s
    for file in prelude processes static-pods certs etcd address; do . "./$file.sh"; done
    address_was() { printf "%s\n" "$old"; }
    advertise_address=$new
    address_in || echo "none of it"')
  [ "$got" = "$4" ] || { echo "'$3' became '$got', not '$4'" >&2 && exit 1; }
}

becomes 10.0.0.1 10.0.0.99 'server: https://10.0.0.1:6443' 'server: https://10.0.0.99:6443'
becomes 10.0.0.1 10.0.0.99 '10.0.0.11,10.0.0.1,110.0.0.1,10.0.0.1' '10.0.0.11,10.0.0.99,110.0.0.1,10.0.0.99'
becomes 10.0.0.1 10.0.0.99 '10.0.0.1.5 10.0.0.12' $'10.0.0.1.5 10.0.0.12\nnone of it'
becomes 10.0.0.1 10.0.0.1 '- --x=10.0.0.1' '- --x=10.0.0.1'
becomes 10.0.0.1 10.0.0.99 '10a0b0c1' $'10a0b0c1\nnone of it'
becomes fd00::1 fd00::2 'https://[fd00::1]:6443 fd00::11 cfd00::1' 'https://[fd00::2]:6443 fd00::11 cfd00::1'
becomes 10.0.0.1 10.0.0.99 '{"a":"10.0.0.1","b":"\n  10.0.0.1\n"}' '{"a":"10.0.0.99","b":"\n  10.0.0.99\n"}'
