#!/usr/bin/env bash
# The view of a cluster asks for no table of an API group that the API server does not have: kubectl would read all groups again for each. A
# group that could not be asked for may exist. An API server that lists no nodes is asked nothing more. kubectl is a double.
. "$(dirname "$0")/common"

mkdir bin
cat >bin/kubectl <<END
#!/bin/sh
echo "\$*" >>$place/asked
case \$* in
  *resource.k8s.io*)
    [ "\${group:-}" != none ] || { echo 'Error from server (NotFound): the server could not find the requested resource' >&2 && exit 1; }
    [ "\${group:-}" != refused ] || { echo 'Error from server (Forbidden): no' >&2 && exit 1; } ;;
  *' get nodes '*) [ -z "\${silent:-}" ] || exit 1 ;;
esac
END
chmod +x bin/kubectl
{
  echo "PATH=$place/bin:\$PATH kubeconfig_is_here=yes static_pods_is_here=yes purpose=dashboard && find_kubeconfig() { config=none; }"
  "$GPUADM" assets show playbooks/frame.sh
  "$GPUADM" assets show playbooks/cluster.sh
} >view.sh
view() { # view NAME=VALUE: the sections go to the file sections
  : >asked
  env "$@" sh view.sh >out 2>err || fail 'the view fails'
  sed -n 's/^=== //p' out >sections
}
tables='deviceclasses resourceslices devicetaintrules resourceclaims'

view group=none
for table in $tables; do ! grep -q "get.* $table" asked || fail "$table was asked for"; done
for section in readyz version nodes leases pods daemonsets resource-api runtimeclasses; do
  [ "$(grep -cx "$section" sections)" = 1 ] || { cp sections out && fail "section $section is missing or there twice"; }
done
for group in refused some; do
  view group=$group
  for table in $tables; do grep -q "get.* $table" asked || fail "$table was not asked for, with the group $group"; done
done
view silent=yes
[ "$(grep -c '^--kubeconfig' asked)" = 3 ] || { cp asked out && fail 'an API server that lists no nodes is asked more'; }
