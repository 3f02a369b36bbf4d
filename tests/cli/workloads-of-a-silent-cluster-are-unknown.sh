#!/usr/bin/env bash
# What a host prints of the workloads that run: a control plane whose API server lists nothing says so, and one that lists only the nodes does not.
. "$(dirname "$0")/common"

mkdir -p bin
"$GPUADM" assets show playbooks/read/workloads.sh | sed "s#/etc/kubernetes#$place/kubernetes#g; s#^PATH=#PATH=$place/bin:#" >workloads.sh
cat >bin/kubectl <<END
#!/bin/sh
case " \$* " in
  *' get nodes '*) cat $place/nodes ;;
  *' get pods '*) cat $place/pods ;;
esac
END
printf '#!/bin/sh\necho GPU1\n' >bin/uname
chmod +x bin/*
says() { # says STATUS LINE...: the output of the script, its lines separated by spaces
  exits "$1" sh workloads.sh
  shift
  [ "$(paste -sd' ' out)" = "$*" ] || fail "it is: $(cat out)"
}

says 3 ''
mkdir kubernetes
touch kubernetes/kubelet.conf
says 1 node gpu1 pods
touch kubernetes/admin.conf
says 1 node gpu1 silent
printf 'node/%s\n' cp gpu1 >nodes
says 1 node gpu1 plane cp plane gpu1 pods
echo '{"items":[]}' >pods
says 0 node gpu1 plane cp plane gpu1 pods '{"items":[]}'
