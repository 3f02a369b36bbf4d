#!/usr/bin/env bash
# `reset` on a control plane: a node that says another host's machine id and address is not taken for it, and a host that is reset
# with it makes no control plane leave that stays.
. "$(dirname "$0")/common"

asks() { # asks LEAVING FUNCTION
  cat >nodes_text
  works one before.sh static-pods.sh reset.sh <<END
reset_all=\$(cat $place/nodes_text)
cat() { if [ "\$*" = /etc/machine-id ]; then echo aaaa; else command cat "\$@"; fi; }
hostname() { echo One; }
ip() { echo '2: eth0 inet 10.0.0.1/24 scope global eth0'; }
leaving_machines='$1'
$2
END
}

nodes='one aaaa control-plane 10.0.0.1,one,
two bbbb control-plane 10.0.0.2,two,
six ffff worker 10.0.0.6,six,'
asks '' reset_this_node <<<"$nodes"
[ "$(cat out)" = one ] || fail "this node"
# By name where another one says this machine id and address; by address where the node has another name; none where several would do.
asks '' reset_this_node <<<"$nodes"$'\nevil aaaa worker 10.0.0.1,'
[ "$(cat out)" = one ] || fail "this node and one that claims to be it"
asks '' reset_this_node <<<$'ip-10-0-0-1 aaaa control-plane 10.0.0.1,\nevil aaaa worker 10.0.0.9,'
[ "$(cat out)" = ip-10-0-0-1 ] || fail "this node by its address"
asks '' reset_this_node <<<$'ip-10-0-0-1 aaaa control-plane 10.0.0.1,\nevil aaaa worker 10.0.0.1,'
[ -z "$(cat out)" ] || fail "one of two was chosen"

stay() { # stay WANTED LEAVING
  asks "$2" reset_planes_that_stay <<<"$nodes"
  [ "$(paste -sd' ' out)" = "$1" ] || fail "these stay: $(paste -sd' ' out), not $1, where these leave: $2"
}
stay two 'aaaa one 10.0.0.1'
stay '' $'aaaa one 10.0.0.1\nbbbb two 203.0.113.2'
stay '' $'aaaa one 10.0.0.1\nbbbb rack7 10.0.0.2'
stay '' $'aaaa one 10.0.0.1\nbbbb two.example.com two.example.com'
# The worker says that it is the machine of the control plane that stays.
stay two $'aaaa one 10.0.0.1\nbbbb six 10.0.0.6'
stay two $'aaaa one 10.0.0.1\nffff six 10.0.0.6'
