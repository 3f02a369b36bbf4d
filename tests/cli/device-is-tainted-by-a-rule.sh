#!/usr/bin/env bash
# The step of gpuadm gpu quarantine for NVIDIA's DRA driver: one DeviceTaintRule in the version that the API server prefers, changed if its
# effect changes, removed by an empty device; a server that does not serve such rules has none. The API server is a double
# of kubectl: lines of api-resources are those of kubectl 1.36.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
needs jq

mkdir -p bin
cat >bin/kubectl <<END
#!/bin/sh
case " \$* " in
  *' api-resources '*) cat $place/served ;;
  *' get '*) [ ! -f $place/rule.json ] || jq -j '[.spec.deviceSelector.driver, .spec.deviceSelector.pool, .spec.deviceSelector.device, .spec.taint.effect] | join(" ")' $place/rule.json ;;
  *' apply '*) cat >$place/rule.json ;;
  *' delete '*) rm -f $place/rule.json ;;
esac
END
chmod +x bin/kubectl
printf '%s\n' 'deviceclasses                          resource.k8s.io/v1        false        DeviceClass' \
  'devicetaintrules                       resource.k8s.io/v1beta2   false        DeviceTaintRule' >served
rule=gpuadm-quarantine-00112233-4455-6677-8899-aabbccddee00 device='gpu.nvidia.com gpu1 gpu-0 NoSchedule'
is() { in_step "taint_rule_is '$rule' '$1'"; }
put() { in_step "taint_rule_put '$rule' '$1'"; }

exits 1 is "$device"
exits 0 is ''
exits 0 put "$device"
jq -e --arg rule "$rule" '. == {apiVersion: "resource.k8s.io/v1beta2", kind: "DeviceTaintRule",
  metadata: {name: $rule, labels: {"app.kubernetes.io/managed-by": "gpuadm"}},
  spec: {deviceSelector: {driver: "gpu.nvidia.com", pool: "gpu1", device: "gpu-0"}, taint: {key: "gpuadm.io/quarantine", effect: "NoSchedule"}}}' rule.json >/dev/null ||
  fail "the rule is $(cat rule.json)"
exits 0 is "$device"
exits 1 is "${device/NoSchedule/NoExecute}"
exits 0 put "${device/NoSchedule/NoExecute}"
exits 0 is "${device/NoSchedule/NoExecute}"
exits 1 is ''
exits 0 put ''
exits 0 is ''
[ ! -e rule.json ] || fail "the rule is left"

# A name that is not one, a server without such rules, and no rule at all.
exits 3 put 'gpu.nvidia.com gpu1","x gpu-0 NoSchedule'
complains "invalid name of a device"
sed -i 2d served
exits 3 put "$device"
complains "the API server does not serve DeviceTaintRules"
cat >bin/kubectl <<END
#!/bin/sh
cat $place/error >&2
exit 1
END
echo "error: the server doesn't have a resource type \"devicetaintrules\"" >error
exits 0 is ''
exits 1 is "$device"
# What cannot be read is not taken for none.
echo 'Unable to connect to the server: net/http: TLS handshake timeout' >error
exits 3 is ''
complains "cannot read the DeviceTaintRule $rule: Unable to connect"

# gpuadm remove deletes the rules of the nodes that leave.
step_files='gpu reset static-pods etcd remove'
remove() { in_step "leaving='gpu1 there
gpu2 gone'
$1"; }
cat >bin/kubectl <<END
#!/bin/sh
cat $place/rules
exit \$(cat $place/status)
END
answers() { printf '%s\n' "$2" >rules && echo "$1" >status; } # answers STATUS TEXT
answers 0 'gpuadm-quarantine-1 gpu2
gpuadm-quarantine-2 gpu3'
exits 0 remove remove_taint_rules
[ "$(cat out)" = gpuadm-quarantine-1 ] || fail "other rules than that of gpu2"
answers 1 "error: the server doesn't have a resource type \"devicetaintrules\""
exits 0 remove remove_taint_rules
[ ! -s out ] || fail "a server without such rules has some"
answers 1 'Unable to connect to the server: net/http: TLS handshake timeout'
exits 3 remove remove_taint_rules
complains "cannot list the DeviceTaintRules: Unable to connect"
