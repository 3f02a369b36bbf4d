#!/usr/bin/env bash
# What kubectl warns while it creates objects is not among the names of those that it created. kubectl is a double.
. "$(dirname "$0")/common"

mkdir bin
cat >bin/kubectl <<'END'
#!/bin/sh
echo 'Warning: would violate PodSecurity "restricted:latest": runAsNonRoot != true' >&2
echo pod/one
case $* in *deny*) echo 'Error from server (Forbidden): pods "two" is forbidden' >&2 && exit 1 ;; esac
echo service/one
END
chmod +x bin/kubectl
# shellcheck disable=SC2016 # expanded in the script
{ echo 'PATH=$place/bin:$PATH kubeconfig_is_here=yes action=create objects={} && find_kubeconfig() { config=none; }' && "$GPUADM" assets show playbooks/objects.sh; } >create.sh
exits 0 env place="$place" space=default sh create.sh
[ "$(cat out)" = "pod/one
service/one" ] || fail "the objects are $(cat out)"
exits 1 env place="$place" space=deny sh create.sh
complains 'pods "two" is forbidden'
