#!/usr/bin/env bash
# What kubectl says while it creates, deletes or lists objects is not among their names: from 1.36 on it prints "No resources found" to standard
# output after a deletion that matched nothing. kubectl is a double.
. "$(dirname "$0")/common"

mkdir bin
cat >bin/kubectl <<'END'
#!/bin/sh
echo 'Warning: would violate PodSecurity "restricted:latest": runAsNonRoot != true' >&2
case " $* " in
  *' delete '* | *' get '*) case $* in *some*) echo pod/one ;; *fails*) echo 'Error from server (Forbidden)' >&2 && exit 1 ;; *) echo 'No resources found' ;; esac && exit 0 ;;
esac
echo pod/one
case $* in *deny*) echo 'Error from server (Forbidden): pods "two" is forbidden' >&2 && exit 1 ;; esac
echo service/one
END
chmod +x bin/kubectl
# shellcheck disable=SC2016 # expanded in the script
{ echo 'PATH=$place/bin:$PATH kubeconfig_is_here=yes action=create objects={} && find_kubeconfig() { config=none; }' && "$GPUADM" assets show playbooks/objects.sh; } >create.sh
exits 0 env place="$place" namespace=default sh create.sh
[ "$(cat out)" = "pod/one
service/one" ] || fail "the objects are $(cat out)"
exits 1 env place="$place" namespace=deny sh create.sh
complains 'pods "two" is forbidden'

sed -i 's/action=create/action=delete kinds=pods seconds=5/' create.sh
exits 0 env place="$place" namespace=default selector=none sh create.sh
[ ! -s out ] || fail "the deleted objects are $(cat out)"
exits 0 env place="$place" namespace=default selector=some sh create.sh
[ "$(cat out)" = pod/one ] || fail "the deleted objects are $(cat out)"
exits 1 env place="$place" namespace=default selector=fails sh create.sh
complains Forbidden

# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
export step_files=verify
exits 0 in_step 'object_names kubectl get pods'
[ ! -s out ] || fail "the names are $(cat out)"
exits 0 in_step 'object_names kubectl get pods some'
[ "$(cat out)" = pod/one ] || fail "the names are $(cat out)"
exits 1 in_step 'object_names kubectl get fails'
