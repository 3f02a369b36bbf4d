#!/usr/bin/env bash
# Without openssl, gpuadm certs renew asks kubeadm when certificates expire: an answer that fails or lists none ends the step with the
# reason. kubeadm is a double with the table of 1.36.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck disable=SC2034 # in_step reads it
step_files='static-pods certs'

mkdir bin
cat >bin/kubeadm <<END
#!/bin/sh
case \$1 in
  version) cat $place/version ;;
  certs) cat $place/table && exit \$(cat $place/status) ;;
esac
END
chmod +x bin/kubeadm
renewed() { # renewed DAYS
  in_step "certs_before=$place/before within_days=$1 renew_all=no
have() { [ \"\$1\" != openssl ]; }
certs_are_renewed || exit 1"
}
cat >table <<'END'
[check-expiration] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...

CERTIFICATE                EXPIRES                  RESIDUAL TIME   CERTIFICATE AUTHORITY   EXTERNALLY MANAGED
admin.conf                 Nov 27, 2027 10:00 UTC   90d             ca                      no
apiserver                  Nov 27, 2027 10:00 UTC   364d            ca                      no

CERTIFICATE AUTHORITY   EXPIRES                  RESIDUAL TIME   EXTERNALLY MANAGED
ca                      Nov 25, 2036 10:00 UTC   9y              no
END
echo v1.36.2 >version
echo 0 >status

exits 0 renewed 30
exits 1 renewed 90
sed -i 's/ 364d /<invalid>/' table
exits 1 renewed 30
echo 1 >status
exits 3 renewed 30
complains "kubeadm cannot read the certificates: run kubeadm certs check-expiration"
echo 0 >status
: >table
exits 3 renewed 30
complains "kubeadm lists no certificate"
: >version
exits 3 renewed 30
complains "cannot read the version of kubeadm"
