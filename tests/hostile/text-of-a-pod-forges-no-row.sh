#!/usr/bin/env bash
# A container's termination message cannot add rows or columns to the tables that are read from a cluster. kubectl is replaced by a
# script that fills the given template as the real kubectl does.
. "$(dirname "$0")/common"

mkdir bin
cat >bin/kubectl <<'END'
#!/usr/bin/env bash
case $* in *' -A pods '*) ;; *' get nodes '*) exit ;; *) exit 1 ;; esac
template=${*: -1}
# The separator in gpuadm's template.
before=$(sed -n 's/^jsonpath={range .items\[\*\]}{"\([^"]*\)"}.*/\1/p' <<<"$template")
printf '%s' "${before}default" "${before}mine" "${before}Job" "${before}one" "${before}Failed"
printf '%s' "${before}Error: "$'\n'"kube-system"$'\t'"etcd-one"$'\t'$'\t'"one"$'\t'"Failed"$'\n\n'
printf '\n%s\n' "${before}default${before}other${before}Job${before}one${before}Running${before}"
END
chmod +x bin/kubectl
mkdir -p etc
sed "s|/etc/kubernetes/admin.conf|$place/etc/admin.conf|" "$top/playbooks/kubeconfig.sh" >kubeconfig.sh
touch etc/admin.conf
cp "$top"/playbooks/{cluster,frame,processes,static-pods}.sh .
PATH=$place/bin:$PATH sh ./cluster.sh >report
sed -n '/^=== pods$/,/^[?] /p' report >out
[ "$(wc -l <out)" = 4 ] || fail "there are other rows than those of two pods"
grep -qxF "$(printf '| default\tmine\tJob\tone\tFailed\tError:  kube-system etcd-one  one Failed')" out || fail "the message is not in its column"
grep -qxF "$(printf '| default\tother\tJob\tone\tRunning\t')" out || fail "the next row is not as it was"
