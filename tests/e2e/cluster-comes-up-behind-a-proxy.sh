#!/usr/bin/env bash
# Hosts that reach the internet only through a proxy with a login, and whose users have one configured that would redirect kubeadm
# and kubectl astray: init and join end well, nothing of the cluster's own goes through the proxy, pods' images do. Another proxy
# is also set for the kubelet by `runtime configure`. reset leaves nothing of it.
. "$(dirname "$0")/common"

login='lab:p@ss/w%rd'
hosts 1 one two
for port in 3128 3129; do
  serves 30 "$port" "$top/tests/lab/proxy" "10.77.0.1:$port" "$login" "$place/proxied-$port" "registry.lab=10.77.0.1:5000"
done
a_registry
lab net skopeo copy --dest-tls-verify=false "docker-archive:$bundle/images/pause.tar" docker://10.77.0.1:5000/lab/pause:1 >out 2>err ||
  fail "the registry takes no image"
printf '%s\n' "$login" >login
chmod 600 login
cat >>cluster.yaml <<END
mirrors: { registries: { quay.io: "http://registry.lab:5000" } }
proxy: { http: "http://10.77.0.1:3128", loginFile: $place/login }
END
for host in one two; do
  on "$host" 'printf "%s=http://10.77.0.1:3128\n" http_proxy https_proxy HTTP_PROXY HTTPS_PROXY >>/etc/environment'
  # shellcheck disable=SC2016 # for the host
  [ "$(on "$host" 'echo "$https_proxy"')" = http://10.77.0.1:3128 ] || fail "the login of $host knows no proxy"
done

exits 0 init -y
for host in one two; do on "$host" 'sed -i /_[pP][rR][oO][xX][yY]=/Id /etc/environment'; done
has_a_cluster one 2
if grep -E ' [^ ]*(10\.77\.0\.1[0-9]|10\.96\.|10\.244\.)' "$place/proxied-3128" >out; then
  fail "what is the cluster's own went through the proxy"
fi
on one '[ -s /etc/kubernetes/manifests/kube-apiserver.yaml ] && ! grep -liE "http_proxy|p@ss|p%40ss" /etc/kubernetes/manifests/*' >out 2>err || fail "the control plane's pods know the proxy"

administer one run pulled --image=quay.io/lab/pause:1 --restart=Never --overrides='{"spec":{"nodeName":"two"}}' >out 2>err || fail "no pod"
administer one wait --for=condition=Ready --timeout=240s pod/pulled >out 2>err || fail "the pod does not run"
grep -qE '^200 GET http://registry.lab:5000/v2/lab/pause/' "$place/proxied-3128" || fail "its image did not come through the proxy"
changes_nothing init -y

# Another proxy: processes that have read the old one are restarted.
knows() { on "$1" "tr '\\0' '\\n' </proc/\$(systemctl show --property=MainPID --value $2)/environ" | grep -c '^HTTPS\?_PROXY=.*:3129'; }
sed -i 's/:3128/:3129/' cluster.yaml
exits 0 gpuadm runtime configure -f cluster.yaml -y
for host in one two; do
  for unit in containerd.service kubelet.service; do
    [ "$(knows "$host" "$unit")" = 2 ] || fail "$unit of $host runs with the old proxy"
  done
done
exits 0 gpuadm runtime configure -f cluster.yaml -y
says "nothing to do"
# What is left of it is for those who join later.
exits 0 init -y
says "Store the cluster file on the control plane"
says "2 hosts: 1 changed"
has_a_cluster one 2

exits 0 gpuadm reset -f cluster.yaml -y
for host in one two; do
  absent "$host" /etc/gpuadm /etc/apt/apt.conf.d/95gpuadm-proxy '/etc/systemd/system/*.d/20-gpuadm-proxy.conf' >out 2>err || fail "reset left something of the proxy on $host"
done
