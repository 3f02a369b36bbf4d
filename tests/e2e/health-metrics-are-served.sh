#!/usr/bin/env bash
# gpuadm health enable --metrics: a node serves its metrics over HTTP on 127.0.0.1, or over TLS on its address, with the pods that use its
# GPUs; as nobody, and also while clients send junk. Hosts without them have nothing of it. The GPUs are doubles of nvidia-smi; pods,
# control groups and connections are real. promtool of Debian's package prometheus checks the text if it is installed.
. "$(dirname "$0")/common"

prometheus=$(lab prometheus)
gpu=GPU-00112233-4455-6677-8899-aabbccddee0
admin() { administer plane "$@"; }
address=$(lab up node --gpu h200x2)
lab up plane
"$top/tests/lib/lab-cluster" --control-planes 1 plane node >cluster.yaml
exits 0 init -y --skip-phases gpu
if ldd "$GPUADM" | grep -q yaml-cpp && ! on node "ldconfig -p | grep -q yaml-cpp"; then own_libraries plane node; fi

enable() { exits 0 gpuadm health enable -f cluster.yaml --interval 10 --skip gpu.driver,gpu.cdi,nct "$@"; }
traces() {
  on "$1" "ls -d /usr/local/libexec/gpuadm /var/lib/gpuadm/health /run/gpuadm-health /etc/systemd/system/*gpuadm-[hm]e* /etc/systemd/system/*.wants/gpuadm-[hm]e* 2>/dev/null; systemctl list-units --all --no-legend 'gpuadm-health*' 'gpuadm-metrics*' || :"
}
# fetched WAY: the metrics are in ./metrics.
fetched() {
  case $1 in
    loopback) on node curl -sSf --max-time 20 http://127.0.0.1:9440/metrics >metrics ;;
    node) lab net curl -sSf --max-time 20 --cacert tls.crt "https://$address:9440/metrics" >metrics ;;
  esac
}
# shows WAY TEXT: a line of the metrics has this text.
shows() { fetched "$1" && { grep -qF -- "$2" metrics || { head -c 2000 metrics && false; }; }; }
on node "command -v curl" >/dev/null || lab ssh node 'cat >/usr/local/bin/curl && chmod 0755 /usr/local/bin/curl' <"$(command -v curl)"

enable --metrics loopback --dry-run
for host in plane node; do traces "$host"; done >traces.log
[ ! -s traces.log ] || fail "a dry run has left $(cat traces.log)"
enable --metrics loopback -y
within 240 "the metrics of the health checks" shows loopback 'gpuadm_health_condition{node="node",condition="GPUHealthy",status="true"} 1'
shows loopback "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"${gpu}1\"" || fail "no power"
enable --metrics loopback -y
says "nothing to do"
! lab net curl -s --max-time 5 "http://$address:9440/metrics" >answer || fail "loopback is reached from another machine: $(head answer)"
# shellcheck disable=SC2016 # on the host
on node 'ps -o user= -p $(systemctl show -p MainPID --value gpuadm-metrics)' >user
grep -qx nobody user || fail "the service runs as $(cat user)"

# One pod on the first GPU; two on the second, as with time-slicing.
for pod in alone one two; do
  admin run "$pod" --image=lab.local/sleep:1 --image-pull-policy=Never --restart=Never --overrides='{ "spec": { "nodeName": "node" } }' -- 0 "$pod" >/dev/null
  admin wait --for=condition=Ready "pod/$pod" --timeout=240s >/dev/null
done
pid_in() {
  local uid
  uid=$(admin get pod "$1" -o 'jsonpath={.metadata.uid}')
  on node "grep -lsE '$uid|${uid//-/_}' /proc/[0-9]*/cgroup | cut -d/ -f3 | while read -r pid; do
    read -r name </proc/\$pid/comm && [ \"\$name\" = pause ] || echo \$pid; done | tail -n 1"
}
alone=$(pid_in alone) one=$(pid_in one) two=$(pid_in two)
on node "cat >/run/nvidia-smi-double.programs" <<END_OF_LIST
${gpu}0, $alone, 70000, /usr/bin/python3
${gpu}1, $one, 2048, /opt/train
${gpu}1, $two, 1024, /opt/serve
${gpu}1, 1, 100, /sbin/init
END_OF_LIST
within 240 "the metrics of the health checks" shows loopback 'namespace="default",pod="two"} 1073741824'
shows loopback "gpuadm_gpu_pod_memory_used_bytes{gpu=\"1\",UUID=\"${gpu}1\",Hostname=\"node\",container=\"one\",namespace=\"default\",pod=\"one\"} 2147483648" ||
  fail "the memory of a pod is wrong: $(grep pod_memory metrics)"
grep -q '^DCGM_FI_DEV_GPU_UTIL{gpu="0".*,container="alone",namespace="default",pod="alone"} ' metrics || fail "the GPU of one pod has no pod"
grep '^DCGM_FI_DEV_GPU_UTIL{gpu="1"' metrics >shared
! grep -q pod= shared || fail "a GPU of two pods has one of them: $(cat shared)"

# A label of DCGM exporter is not snake_case, and its counters have capital letters.
if promtool=$(command -v promtool); then
  # shellcheck disable=SC2094 # a subcommand, and a file
  "$promtool" check metrics <metrics >problems.log 2>&1 || :
  ! grep -vE '^DCGM_FI|modelName' problems.log | grep . || fail "promtool finds problems"
else
  leaves_out "promtool is not installed"
fi

# Over TLS on the node's address, with the certificate of the node and no other.
enable --metrics node -y
on node cat /var/lib/gpuadm/health/tls.crt >tls.crt
on node "stat -c '%a %U' /var/lib/gpuadm/health/tls.key" >mode
grep -qx '600 root' mode || fail "the key is $(cat mode)"
within 240 "the metrics of the health checks" shows node 'gpuadm_health_condition{node="node",condition="GPUHealthy",status="true"} 1'
! lab net curl -s --max-time 5 "https://$address:9440/metrics" >answer 2>&1 || fail "a certificate that is not known is accepted"
! lab net curl -s --max-time 5 "http://$address:9440/metrics" >answer 2>&1 || fail "the metrics are sent without TLS"
on node systemctl restart gpuadm-metrics
on node cat /var/lib/gpuadm/health/tls.crt | cmp - tls.crt || fail "a restart makes another certificate"

# The add-on Prometheus scrapes them from both nodes.
on node 'ctr -n k8s.io images import -' <"$prometheus" >/dev/null
on plane 'ctr -n k8s.io images import -' <"$prometheus" >/dev/null
mkdir -p assets/playbooks
sed "s,^  prometheus_image: .*,  prometheus_image: lab.local/prometheus:1," "$top/playbooks/catalog.yaml" >assets/playbooks/catalog.yaml
exits 0 gpuadm addon enable prometheus -f cluster.yaml --assets assets
says "targets are up (cadvisor, gpuadm, kubelet, prometheus)"
stored() { admin get --raw "/api/v1/namespaces/gpuadm-prometheus/services/prometheus:9090/proxy/api/v1/query?query=$1" >answer; }
stored 'DCGM_FI_DEV_POWER_USAGE%7Bjob%3D%22gpuadm%22%7D'
jq -e --arg gpu "${gpu}1" '[.data.result[] | select(.metric.UUID == $gpu and .metric.node == "node" and (.value[1] | tonumber) > 0)] | length == 1' answer >/dev/null ||
  fail "Prometheus has no power of the GPU: $(cat answer)"
! grep -q exported_ answer || fail "a label was renamed: $(cat answer)"
stored 'up%7Bjob%3D%22gpuadm%22%7D'
jq -e '[.data.result[] | select(.value[1] == "1") | .metric.node] | sort == ["node", "plane"]' answer >/dev/null || fail "Prometheus does not scrape both nodes: $(cat answer)"
stored 'gpuadm_health_condition%7Bcondition%3D%22GPUHealthy%22,status%3D%22true%22%7D'
jq -e '[.data.result[] | select(.value[1] == "1") | .metric.node] == ["node"]' answer >/dev/null || fail "Prometheus does not have the health of the node: $(cat answer)"
exits 0 gpuadm addon disable prometheus -f cluster.yaml --assets assets -y

# Junk, half handshakes, and clients that keep connections open and send nothing.
sleep 1
before=$(on node systemctl show -p MainPID,NRestarts gpuadm-metrics)
lab net bash -s "$address" <<'END_OF_JUNK'
for i in $(seq 40); do { head -c $((i * 997)) /dev/urandom >"/dev/tcp/$1/9440"; } 2>/dev/null; done
for i in $(seq 20); do { printf '\x16\x03\x01\x02\x00\x01\x00' >"/dev/tcp/$1/9440"; } 2>/dev/null; done
for i in $(seq 40); do { printf 'GET /metrics HTTP/1.1\r\n\r\n' >"/dev/tcp/$1/9440"; } 2>/dev/null; done
exit 0 # the server may end each of these connections before all is written
END_OF_JUNK
# shellcheck disable=SC2016 # in that shell
lab net bash -c 'for i in $(seq 100); do exec {fd}<>"/dev/tcp/$1/9440"; done; sleep 20' idle "$address" &
pids+=($!)
sleep 2
fetched node || fail "clients that send nothing keep others out"
lab net curl -s --max-time 20 --cacert tls.crt -o answer -w '%{http_code}' "https://$address:9440/etc/passwd" >status
grep -qx 404 status || fail "another path gets $(cat status)"
lab net curl -s --max-time 20 --cacert tls.crt -o answer -w '%{http_code}' -X POST --data-binary @tls.crt "https://$address:9440/metrics" >status
grep -qx 405 status || fail "POST gets $(cat status)"
[ "$(on node systemctl show -p MainPID,NRestarts gpuadm-metrics)" = "$before" ] || fail "junk has stopped the service"
on node systemctl show -p MemoryCurrent,CPUUsageNSec gpuadm-metrics

# A port that is in use is named.
exits 2 gpuadm health enable -f cluster.yaml --metrics node --metrics-port 80 -y
exits 1 gpuadm health enable -f cluster.yaml --interval 10 --metrics node --metrics-port 10250 -y
says "10250"
enable --metrics off -y
! fetched node 2>/dev/null || fail "metrics are still served"
absent node /etc/systemd/system/gpuadm-metrics.service /var/lib/gpuadm/health/tls.key >left || fail "it has left $(cat left)"
on node cat /run/gpuadm-health/node.prom >metrics
grep -q '^gpuadm_gpus{node="node"} 2' metrics || fail "the textfile collector's file is missing"

# A host that joins gets what the cluster has.
enable --metrics node --metrics-port 9441 -y
lab up later
"$top/tests/lib/lab-cluster" --control-planes 1 plane node later >cluster.yaml
[ ! -d lib ] || own_libraries later
exits 0 gpuadm join later -f cluster.yaml --bundle "$bundle" -y --skip-phases gpu
is_enabled() { on later systemctl is-active -q gpuadm-health.timer gpuadm-metrics.service; }
is_enabled || fail "a host that joined has no health checks"
for unit in gpuadm-health.service gpuadm-health.timer gpuadm-metrics.service; do
  for host in node later; do on "$host" "sed 's/ --node [^ ]*//; s/ --address [^ ]*//' /etc/systemd/system/$unit" >"unit.$host"; done
  cmp unit.node unit.later || fail "the settings of $unit differ"
done
exits 0 gpuadm apply -f cluster.yaml --bundle "$bundle" -y --skip-phases gpu
says "nothing to do"

# Disable, and reset, leave nothing.
enable --metrics node -y
exits 0 gpuadm health disable -f cluster.yaml -y
for host in plane node later; do traces "$host"; done >traces.log
[ ! -s traces.log ] || fail "health disable has left $(cat traces.log)"
enable --metrics loopback -y
within 240 "metrics after health disable and enable" fetched loopback
exits 0 gpuadm reset -f cluster.yaml -y
for host in plane node later; do traces "$host"; done >traces.log
[ ! -s traces.log ] || fail "reset has left $(cat traces.log)"
