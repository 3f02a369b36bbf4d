# shellcheck shell=sh disable=SC2154
# Reads and changes Node objects for `gpuadm health`, through kubectl, and Deployments of notebooks. Variables: config (a kubeconfig; empty: the
# administrator's), action (get, put, create, nodes, taint, untaint, log), path (of the API), object (JSON), node; for log: ns,
# pod, container, text. Exit status 3: the host has no such kubeconfig.

export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=playbooks/kubeconfig.sh
[ "${kubeconfig_is_here:-}" = yes ] || . "$(dirname "$0")/kubeconfig.sh"
given=$config
find_kubeconfig
[ -z "$given" ] || config=$given
[ -r "${config:-/etc/kubernetes/admin.conf}" ] || { echo "no ${config:-/etc/kubernetes/admin.conf}" >&2 && exit 3; }

api() { timeout -k 2 12 kubectl --kubeconfig "$config" --request-timeout=8s "$@"; }

# health_nodes: name, control-plane, Ready, tainted, conditions with their heartbeats, separated by tabs. What a node reports about itself is quoted, so that it
# cannot forge a line.
health_nodes() {
  # shellcheck disable=SC2016 # a template
  api get nodes -o 'go-template={{range .items}}{{.metadata.name}}{{"\t"}}{{range $key, $value := .metadata.labels}}{{if or (eq $key "node-role.kubernetes.io/control-plane") (eq $key "node-role.kubernetes.io/master")}}control-plane {{end}}{{end}}{{"\t"}}{{range .status.conditions}}{{if eq .type "Ready"}}{{printf "%q" .status}}{{end}}{{end}}{{"\t"}}{{range .spec.taints}}{{if eq .key "gpuadm.io/gpu-unhealthy"}}tainted{{end}}{{end}}{{"\t"}}{{range .status.conditions}}{{if or (eq .type "GPUHealthy") (eq .type "GPUFabricHealthy") (eq .type "GPUDriverHealthy")}}{{.type}}={{printf "%q" .status}}={{printf "%q" .lastHeartbeatTime}},{{end}}{{end}}{{"\n"}}{{end}}' |
    awk -F '\t' -v OFS='\t' '{ gsub(/"/, ""); sub(/ .*/, "", $2); print $1, $2, $3, $4, $5 }'
}

# log_line: text becomes a line of the container's log, which is what its first program prints.
log_line() {
  # shellcheck disable=SC2016 # of the container's shell
  api exec -n "$ns" "$pod" -c "$container" -- sh -c 'printf "%s\n" "$1" >/proc/1/fd/2' sh "$text" >/dev/null
}

case $action in
  get) api get --raw "$path" ;;
  put) printf '%s' "$object" | api replace --raw "$path" -f - >/dev/null ;;
  create) printf '%s' "$object" | api create --raw "$path" -f - >/dev/null ;;
  nodes) health_nodes ;;
  taint) api taint nodes "$node" gpuadm.io/gpu-unhealthy:NoSchedule --overwrite >/dev/null ;;
  log) log_line ;;
  untaint) api taint nodes "$node" gpuadm.io/gpu-unhealthy- >/dev/null ;;
  *) echo "unknown action: $action" >&2 && exit 2 ;;
esac
