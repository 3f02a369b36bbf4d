#!/usr/bin/env bash
# What a host prints of the workloads that run: a control plane whose API server lists nothing says so, and one that lists only the nodes does not.
. "$(dirname "$0")/common"

mkdir -p bin
"$GPUADM" assets show playbooks/read/workloads.sh | sed "s#/etc/kubernetes#$place/kubernetes#g; s#^PATH=#PATH=$place/bin:#" >workloads.sh
cat >bin/kubectl <<END
#!/bin/sh
case " \$* " in
  *' get nodes '*) cat $place/nodes ;;
  *' get pods '*go-template*) [ -e $place/pods ] && cat $place/others ;;
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
touch others
says 1 node gpu1
touch kubernetes/admin.conf
says 1 node gpu1 silent
printf 'node/%s\n' cp gpu1 >nodes
says 1 node gpu1 plane cp plane gpu1
echo '{"items":[]}' >pods
says 0 node gpu1 plane cp plane gpu1 pods '{"items":[]}'

# Other pods that have GPUs or claims and have not ended; not those of gpuadm's own tests.
T=$'\t'
row() { printf 'gpus\t%s\tgpu1\t"%s"\t%s\n' "$@" >>others; }
row team/mine Running 'cpu=1 nvidia.com/gpu=2 '
row team/ended Succeeded 'nvidia.com/gpu=2 '
row team/plain Running 'cpu=1 '
row team/claims Pending 'claim=1 '
row gpuadm-verify/x Running 'nvidia.com/gpu=1 '
row kube-system/gpuadm-gpu-0123456789 Pending 'nvidia.com/gpu=1 '
says 0 node gpu1 plane cp plane gpu1 "gpus${T}team/mine${T}gpu1${T}\"Running\"${T}cpu=1 nvidia.com/gpu=2 " \
  "gpus${T}team/claims${T}gpu1${T}\"Pending\"${T}claim=1 " pods '{"items":[]}'
