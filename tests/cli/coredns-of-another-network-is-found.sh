#!/usr/bin/env bash
# Pods of CoreDNS that have an address of another network plugin, because its file was the only one in /etc/cni/net.d, are named. kubectl is a
# double with the lines of jsonpath.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files=verify

mkdir -p bin
cat >bin/kubectl <<'END'
#!/bin/sh
case " $* " in
  *' get nodes '*) printf '%s\n' 'node one 10.244.0.0/24' 'node two 10.244.1.0/24' 'node six fd00:1::/64' 'node new ' ;;
  *' get pods '*) printf '%s\n' 'pod podman one 10.88.0.3' 'pod right one 10.244.0.3' 'pod moved one 10.244.1.9' 'pod far two 10.244.1.255' \
    'pod v6 six fd00:1::5' 'pod waits two ' 'pod early new 10.88.0.4' ;;
esac
END
chmod +x bin/kubectl
exits 0 in_step verify_dns_elsewhere
[ "$(paste -sd' ' out)" = 'podman moved' ] || fail "$(cat out)"
printf '#!/bin/sh\nexit 1\n' >bin/kubectl
exits 0 in_step verify_dns_elsewhere
[ ! -s out ] || fail "$(cat out)"
