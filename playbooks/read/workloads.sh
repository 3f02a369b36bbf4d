# shellcheck shell=sh
# Prints the workloads of gpuadm and the other pods with GPUs that run on this node, or on a control-plane node those of the whole cluster: "node
# NAME" if this host is a node, "plane NAME" for each control-plane node, "pods", and the pods of gpuadm as JSON; before "pods" a line for each
# other pod with GPUs, its columns separated by tabs: "gpus", NAMESPACE/NAME, NODE, "PHASE", RESOURCE=COUNT... With a kubelet's credentials only the pods of its own node can
# be read. "silent": a control-plane node whose API server does not even list the nodes. Exit status 3: this host is not a node; otherwise
# kubectl's.
export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
selector='app.kubernetes.io/managed-by=gpuadm,gpuadm.io/kind'
admin=/etc/kubernetes/admin.conf kubelet=/etc/kubernetes/kubelet.conf

[ -r "$kubelet" ] || [ -r "$admin" ] || exit 3
# api CONFIG ARGUMENT...: the reset of a cluster whose API server does not respond must not wait long.
api() {
  config=$1
  shift
  timeout -k 5 15 kubectl --kubeconfig "$config" --request-timeout=10s "$@"
}
# The certificate of a kubelet has the node's name as its subject, also if it differs from the host name.
certificate=/var/lib/kubelet/pki/kubelet-client-current.pem
node=
[ ! -r "$certificate" ] || node=$(openssl x509 -noout -subject -nameopt RFC2253 -in "$certificate" 2>/dev/null | sed -n 's/.*CN *= *system:node:\([^,]*\).*/\1/p')
[ -n "$node" ] || node=$(uname -n | tr '[:upper:]' '[:lower:]')

# Pods that request resources of NVIDIA or devices by claims. A phase is written by a kubelet: it is quoted, and cannot forge a line.
# shellcheck disable=SC2016 # a template
rows='go-template={{range .items}}{{$name := printf "%s/%s" .metadata.namespace .metadata.name}}gpus{{"\t"}}{{$name}}{{"\t"}}{{with .spec.nodeName}}{{.}}{{end}}{{"\t"}}{{with .status.phase}}{{printf "%q" .}}{{end}}{{"\t"}}{{range .spec.containers}}{{range $resource, $count := .resources.limits}}{{$resource}}={{$count}} {{end}}{{end}}{{range .spec.resourceClaims}}claim=1 {{end}}{{"\n"}}{{end}}'
# others CONFIG OPTION...: also those of workloads, which the pods below name
others() {
  config_of_others=$1
  shift
  found=$(api "$config_of_others" get pods --all-namespaces "$@" -o "$rows") || return
  printf '%s\n' "$found" | awk -F '\t' 'NF == 5 && $4 !~ /Succeeded|Failed/ && $5 ~ /nvidia\.com\/|claim=/ && $2 !~ /^(gpuadm-verify\/|kube-system\/gpuadm-gpu-)/'
}

echo "node $node"
if [ -r "$admin" ]; then
  planes=$(for label in control-plane master; do api "$admin" get nodes -l "node-role.kubernetes.io/$label" -o name || exit; done) || {
    status=$?
    echo silent
    exit "$status"
  }
  printf '%s\n' "$planes" | sed -n 's,^node/,plane ,p' | sort -u
  others "$admin" || exit
  echo pods
  api "$admin" get pods --all-namespaces -l "$selector" -o json
else
  others "$kubelet" --field-selector "spec.nodeName=$node" || exit
  echo pods
  api "$kubelet" get pods --all-namespaces -l "$selector" --field-selector "spec.nodeName=$node" -o json
fi
