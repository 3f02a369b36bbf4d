#!/usr/bin/env bash
# The steps of gpuadm gpu reset: the device plugin, services and persistence mode let go of the GPU, and each way in which the reset fails
# has its own words. nvidia-smi is the double of the lab with texts of real GPUs; kubectl and systemctl are doubles.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files="gpu gpu-users upgrade gpu-reset"

# No nvidia-smi of another test hangs meanwhile.
exec 9<"$top/tests/lab/gpu-double/nvidia-smi" && flock -s 9
mkdir -p bin share dev run
cp "$top"/tests/lab/gpu-double/h200x2/* "$top"/tests/lab/gpu-double/*.txt share/
sed -e "s|^here=.*|here=$place/share|; s|^state=.*|state=$place/smi|; s|^programs=.*|programs=$place/programs|; s|\"/dev/nvidia|\"$place/dev/nvidia|" \
  "$top/tests/lab/gpu-double/nvidia-smi" >bin/nvidia-smi
cat >bin/kubectl <<END
#!/bin/sh
# As kubectl does while metrics-server is down.
echo "E0219 12:00:00.000000 1 memcache.go:255] couldn't get resource list for metrics.k8s.io/v1beta1: the server is currently unable to handle the request" >&2
case " \$* " in
  *'gpu-reset} '*) cat $place/note ;;
  *'unschedulable} '*) cat $place/cordoned ;;
  *' annotate --overwrite '*) for word in "\$@"; do case \$word in gpuadm.io/gpu-reset=*) echo "\${word#*=}" >$place/note ;; esac; done ;;
  *' annotate '*) : >$place/note ;;
  *' uncordon '*) : >$place/cordoned ;;
  *' cordon '*) echo true >$place/cordoned ;;
  *'/eviction '*)
    cat >>$place/evictions
    if [ -s $place/budget ]; then
      cat $place/budget >&2
      exit 1
    fi
    : >$place/pods
    ;;
  *namespace*) cat $place/pods ;;
esac
END
cat >bin/systemctl <<END
#!/bin/sh
case \$1 in
  is-active) [ -e "$place/active.\$3" ] ;;
  start | stop)
    [ "\$2" != gpuadm-health.service ] || exit 0
    echo "\$*" >>$place/services
    if [ "\$1" = start ]; then touch $place/active.\$2; else rm -f $place/active.\$2; fi
    ;;
esac
END
chmod +x bin/*
mapfile -t uuids < <(bin/nvidia-smi --query-gpu=uuid --format=csv,noheader)
uuid=${uuids[1]} slot=0000:00:07.0
touch dev/nvidia0 dev/nvidia1 note cordoned pods budget
step() {
  in_step "gpu_reset_file=$place/run/reset gpu_uuid=$uuid gpu_slot=$slot gpu_device=$place/dev/nvidia1 reset_node=node node_name=node
reset_pods=default/train drain_timeout=3 gpu_reset_services=nvidia-dcgm.service
node_has_labels() { [ ! -e $place/plugin ]; }
node_label() { rm -f $place/plugin; }
node_kubectl() { cat $place/plugin 2>/dev/null || :; }
$1"
}

# The node, cordoned by gpuadm or before it.
exits 1 step gpu_reset_is_cordoned
exits 0 step gpu_reset_cordon
[ "$(cat note cordoned)" = "$uuid $slot uncordon
true" ] || fail "the note is $(cat note cordoned)"
exits 0 step gpu_reset_is_cordoned
exits 1 step gpu_reset_has_returned
exits 0 step gpu_reset_return
exits 0 step gpu_reset_has_returned
[ -z "$(cat note cordoned)" ] || fail "the node has not returned"
echo true >cordoned
exits 0 step gpu_reset_cordon
exits 0 step gpu_reset_cordon
[ "$(cat note)" = "$uuid $slot keep" ] || fail "the note is $(cat note)"
exits 0 step gpu_reset_return
[ -s cordoned ] || fail "the node that was cordoned before is uncordoned"

# An API server that does not answer is not one that answers nothing.
# shellcheck disable=SC2016 # expanded in the step
exits 3 step 'upgrade_kubectl() { echo "Unable to connect to the server" >&2; return 1; }
uptime_seconds() { echo 10s >>ticks && echo "$(($(wc -l <ticks) * 10))"; }
sleep() { :; }
gpu_reset_is_cordoned'
complains "Unable to connect to the server"
complains "the API server does not answer as expected"

# The pods: those that have left are done, and a PodDisruptionBudget keeps one until the deadline.
exits 0 step gpu_reset_is_evicted
printf '%s\n' default/train default/other >pods
exits 1 step gpu_reset_is_evicted
echo "Error from server (TooManyRequests): Cannot evict pod as it would violate the pod's disruption budget." >budget
exits 3 step gpu_reset_evict
complains "violate the pod's disruption budget"
complains "default/train was not evicted from node within 3s"
complains "Run the same command again"
! grep -q other evictions || fail "another pod was evicted"
: >budget
exits 0 step gpu_reset_evict

# Everything lets go of the GPU, it is reset, and everything is as before.
echo pod/nvidia-device-plugin-x >plugin
touch active.nvidia-dcgm.service
exits 1 step gpu_reset_is_free
exits 0 step gpu_reset_free
exits 0 step gpu_reset_is_free
exits 1 step "gpu_reset_has 'reset $uuid'"
exits 0 step gpu_reset_reset
exits 0 step "gpu_reset_has 'reset $uuid'"
exits 0 step gpu_reset_answers
exits 0 step gpu_reset_start
exits 0 step "gpu_reset_has 'started $uuid'"
[ "$(cat smi.log services)" = "persistence $uuid Disabled
reset $uuid done
persistence $uuid Enabled
stop nvidia-dcgm.service
start nvidia-dcgm.service" ] || fail "it was: $(cat smi.log services)"
rm run/reset smi.*

# A program that has the GPU open.
sleep 300 7<dev/nvidia1 &
holder=$!
exits 3 step gpu_reset_free
complains "GPU $slot is in use by sleep (pid $holder)"
exits 3 step gpu_reset_reset
complains "nvidia-smi cannot complete the reset of GPU $slot: it is in use by sleep (pid $holder)"
kill "$holder"
wait "$holder" 2>/dev/null || :

# What nvidia-smi answers.
failed() { # failed KIND TEXT
  echo "$1" >smi.reset
  exits 3 step gpu_reset_reset
  complains "$2"
  complains "The node stays cordoned"
  rm smi.reset
}
failed not-supported "GPU $slot does not support it (Resetting GPU 00000000:00:07.0 is not supported.)"
failed lost "GPU $slot has fallen off the bus (Unable to determine the device handle"
exits 1 step gpu_reset_answers
complains "Unable to determine the device handle"
rm smi.lost
sed -i 's/exec sleep 600/exec sleep 30/' bin/nvidia-smi
echo hangs >smi.reset
exits 3 step "gpu_reset_smi 1 --gpu-reset -i $uuid || gpu_reset_say_failed \$? 'complete the reset'"
complains "nvidia-smi did not complete the reset of GPU $slot within 1s: reboot the host"
