# shellcheck shell=bash disable=SC2034,SC2317,SC2329
# Faults that are injected into a host of the lab: what is broken there, what the doctor's first line must name, and how
# it is repaired. Read by tests/e2e/doctor-names-faults-of-a-{host,node}.sh, and by tests/faults/page for the list of them.
# NAME.breaks and NAME.repairs run on the host, as root.

faults=()
declare -A stage_of leads_of title_of folds_of

# fault NAME STAGE ID TITLE [FOLDED ID...]
fault() {
  faults+=("$1")
  stage_of[$1]=$2 leads_of[$1]=$3 title_of[$1]=$4
  shift 4
  folds_of[${faults[-1]}]=$*
}

# --- a machine that is to become a node ------------------------------------------------------------------

fault port-of-the-api-server preflight kubeadm.ports-free 'Another program listens on the API server'"'"'s port'
port-of-the-api-server.breaks() { systemd-run -q --collect --unit=squatter socat TCP-LISTEN:6443,fork,reuseaddr EXEC:cat; }
port-of-the-api-server.repairs() { systemctl stop squatter; }

fault files-of-an-earlier-cluster preflight kubeadm.leftover-config 'An earlier cluster has left its files' \
  kubeadm.manifests-empty kubeadm.etcd-dir-empty
files-of-an-earlier-cluster.breaks() {
  mkdir -p /etc/kubernetes/manifests /etc/kubernetes/pki /var/lib/etcd/member
  echo '    server: https://203.0.113.7:6443' >/etc/kubernetes/kubelet.conf
  touch /etc/kubernetes/admin.conf /etc/kubernetes/pki/ca.crt /etc/kubernetes/manifests/etcd.yaml
}
files-of-an-earlier-cluster.repairs() { rm -rf /etc/kubernetes /var/lib/etcd/member; }

fault network-of-an-earlier-cluster preflight kubeadm.leftover-cni 'The network plugin of an earlier cluster is configured'
network-of-an-earlier-cluster.breaks() { mkdir -p /etc/cni/net.d && echo '{}' >/etc/cni/net.d/10-flannel.conflist; }
network-of-an-earlier-cluster.repairs() { rm /etc/cni/net.d/10-flannel.conflist; }

fault name-that-no-node-can-have preflight host.hostname.valid 'The hostname is invalid as a node name' host.hostname.resolves
name-that-no-node-can-have.breaks() { sysctl -qw kernel.hostname=gpu_one; }
name-that-no-node-can-have.repairs() { sysctl -qw kernel.hostname="$(cat /etc/hostname)"; }

fault own-name-unknown preflight host.hostname.resolves 'The host cannot resolve its own name'
own-name-unknown.breaks() { cp /etc/hosts /root/hosts && echo '127.0.0.1 localhost' >/etc/hosts; }
own-name-unknown.repairs() { cat /root/hosts >/etc/hosts; }

fault containerd-file-broken preflight rt.containerd.config-parses 'A typo in containerd'"'"'s configuration'
containerd-file-broken.breaks() { cp /etc/containerd/config.toml /root/ && echo '[plugins' >>/etc/containerd/config.toml; }
containerd-file-broken.repairs() { mv /root/config.toml /etc/containerd/config.toml; }

fault cri-switched-off preflight rt.containerd.disabled-cri 'containerd runs without its CRI plugin, as Docker packages it' rt.cri.v1-api
cri-switched-off.breaks() {
  cp /etc/containerd/config.toml /root/ && sed -i '1i disabled_plugins = ["io.containerd.grpc.v1.cri"]' /etc/containerd/config.toml
  systemctl restart containerd
}
cri-switched-off.repairs() { mv /root/config.toml /etc/containerd/config.toml && systemctl restart containerd; }

fault ufw-on preflight sec.ufw.active 'ufw is active'
ufw-on.breaks() { mkdir -p /etc/ufw && echo ENABLED=yes >/etc/ufw/ufw.conf && echo 'DEFAULT_FORWARD_POLICY="DROP"' >/etc/default/ufw; }
ufw-on.repairs() { rm -r /etc/ufw /etc/default/ufw; }

fault no-default-route preflight net.default-route 'There is no default route'
no-default-route.breaks() { ip route show default >/root/route && ip route del default; }
# shellcheck disable=SC2046 # words of a route
no-default-route.repairs() { ip route add $(cat /root/route); }

fault name-server-is-itself preflight net.coredns-loop 'The host is its own name server'
name-server-is-itself.breaks() { cp /etc/resolv.conf /root/ && echo 'nameserver 127.0.0.1' >/etc/resolv.conf; }
name-server-is-itself.repairs() { cat /root/resolv.conf >/etc/resolv.conf; }

fault package-lock-held preflight host.pkg.apt-lock 'Another program holds the lock of the package manager'
package-lock-held.breaks() {
  systemd-run -q --collect --unit=squatter flock /var/lib/dpkg/lock-frontend sleep 600
  sleep 0.3
}
package-lock-held.repairs() { systemctl stop squatter; }

fault small-file-system preflight host.disk.root-free 'The file system of the kubelet is small and full'
small-file-system.breaks() {
  mount -t tmpfs -o size=64m tmpfs /var/lib/kubelet && head -c 60000000 /dev/zero >/var/lib/kubelet/full
}
small-file-system.repairs() { umount /var/lib/kubelet; }

fault no-inodes preflight host.disk.inodes 'The file system of the kubelet has no inodes left'
no-inodes.breaks() {
  mount -t tmpfs -o size=60g,nr_inodes=1000 tmpfs /var/lib/kubelet
  (cd /var/lib/kubelet && seq 990 | xargs touch)
}
no-inodes.repairs() { umount /var/lib/kubelet; }

fault programs-may-not-run preflight sec.noexec-var 'The folder of network plugins is mounted with noexec'
programs-may-not-run.breaks() { mkdir -p /opt/cni/bin && mount -t tmpfs -o noexec,size=1m plugins /opt/cni/bin; }
programs-may-not-run.repairs() { umount /opt/cni/bin && rmdir /opt/cni/bin /opt/cni; }

fault proxy-of-logins preflight host.env.proxy 'The proxy is set for login shells, but not for containerd'
proxy-of-logins.breaks() { touch /etc/environment && cp /etc/environment /root/ && echo 'https_proxy=http://proxy.example.com:3128' >>/etc/environment; }
proxy-of-logins.repairs() { mv /root/environment /etc/environment; }

fault closed-repository preflight kubeadm.repo-legacy 'The legacy Kubernetes package repository is configured'
closed-repository.breaks() { echo 'deb https://apt.kubernetes.io/ kubernetes-xenial main' >/etc/apt/sources.list.d/kubernetes.list; }
closed-repository.repairs() { rm /etc/apt/sources.list.d/kubernetes.list; }

fault route-through-the-pods preflight kubeadm.cidr-overlap 'A route overlaps the pod network'
route-through-the-pods.breaks() { ip route add 10.244.8.0/24 dev lo; }
route-through-the-pods.repairs() { ip route del 10.244.8.0/24 dev lo; }

# --- a node ----------------------------------------------------------------------------------------------

fault containerd-stopped node rt.present 'containerd has stopped'
containerd-stopped.breaks() { systemctl stop containerd; }
containerd-stopped.repairs() { systemctl start containerd; }

fault containerd-does-not-start node rt.containerd.config-parses 'containerd does not start because of a typo' rt.cri.socket
containerd-does-not-start.breaks() {
  cp /etc/containerd/config.toml /root/ && echo '[plugins' >>/etc/containerd/config.toml
  systemctl restart containerd || true
}
containerd-does-not-start.repairs() { mv /root/config.toml /etc/containerd/config.toml && systemctl reset-failed containerd && systemctl start containerd; }

fault cri-off-on-a-node node rt.containerd.disabled-cri 'The CRI plugin was disabled' rt.cri.v1-api
cri-off-on-a-node.breaks() {
  cp /etc/containerd/config.toml /root/ && sed -i '1i disabled_plugins = ["io.containerd.grpc.v1.cri"]' /etc/containerd/config.toml
  systemctl restart containerd
}
cri-off-on-a-node.repairs() { mv /root/config.toml /etc/containerd/config.toml && systemctl restart containerd; }

fault kubelet-stopped node kubelet.service-active 'The kubelet was stopped'
kubelet-stopped.breaks() { systemctl stop kubelet; }
kubelet-stopped.repairs() { systemctl start kubelet; }

fault kubelet-not-at-boot node kubelet.service-active 'The kubelet is not enabled at boot'
kubelet-not-at-boot.breaks() { systemctl -q disable kubelet; }
kubelet-not-at-boot.repairs() { systemctl -q enable kubelet; }

# kubelet_restarts: waits until systemd has restarted the kubelet twice. Some forks of Kubernetes only log a warning for an unknown gate.
kubelet_restarts() {
  for _ in $(seq 80); do
    [ "$(systemctl show -p NRestarts --value kubelet)" -lt 2 ] || return 0
    sleep 0.5
  done
  echo "the kubelet starts despite the fault"
  return 1
}

fault unknown-flag node kubelet.unknown-flags 'The kubelet has an unknown flag' kubelet.service-active
unknown-flag.breaks() {
  cp /var/lib/kubelet/kubeadm-flags.env /root/
  sed -i 's/"$/ --no-such-flag=1"/' /var/lib/kubelet/kubeadm-flags.env
  systemctl restart kubelet
  kubelet_restarts
}
unknown-flag.repairs() { mv /root/kubeadm-flags.env /var/lib/kubelet/ && systemctl restart kubelet; }

fault unknown-gate node kubelet.feature-gates 'The kubelet has an unknown feature gate' kubelet.service-active
unknown-gate.breaks() {
  cp /var/lib/kubelet/config.yaml /root/
  printf 'featureGates:\n  NodeSwaps: true\n' >>/var/lib/kubelet/config.yaml
  systemctl restart kubelet
  kubelet_restarts
}
unknown-gate.repairs() { mv /root/config.yaml /var/lib/kubelet/ && systemctl restart kubelet; }

fault kubelet-file-broken node kubelet.config-readable 'The kubelet cannot read its configuration' kubelet.service-active
kubelet-file-broken.breaks() {
  cp /var/lib/kubelet/config.yaml /root/
  echo 'kind: [' >/var/lib/kubelet/config.yaml
  systemctl restart kubelet
  sleep 1
}
kubelet-file-broken.repairs() { mv /root/config.yaml /var/lib/kubelet/ && systemctl restart kubelet; }

fault kubelet-file-gone node kubelet.config-readable 'The kubelet'"'"'s configuration is missing' kubelet.service-active
kubelet-file-gone.breaks() {
  mv /var/lib/kubelet/config.yaml /root/
  systemctl restart kubelet
  sleep 1
}
kubelet-file-gone.repairs() { mv /root/config.yaml /var/lib/kubelet/ && systemctl restart kubelet; }

fault kubelet-of-another-driver node kubelet.cgroup-driver-match 'The kubelet is set to another cgroup driver than the runtime'
kubelet-of-another-driver.breaks() {
  cp /var/lib/kubelet/config.yaml /root/
  sed -i 's/^cgroupDriver: cgroupfs/cgroupDriver: SYSTEMD/; s/^cgroupDriver: systemd/cgroupDriver: cgroupfs/; s/SYSTEMD/systemd/' /var/lib/kubelet/config.yaml
}
kubelet-of-another-driver.repairs() { mv /root/config.yaml /var/lib/kubelet/; }

fault checkpoint-of-another-policy node kubelet.cpu-topology-manager 'The kubelet'"'"'s checkpoint has another policy'
checkpoint-of-another-policy.breaks() { echo '{"policyName":"Static","machineState":{},"checksum":4065967}' >/var/lib/kubelet/memory_manager_state; }
checkpoint-of-another-policy.repairs() { rm /var/lib/kubelet/memory_manager_state; }

fault kubelet-certificate-expired node kubelet.certificate-expiry 'The kubelet'"'"'s certificate has expired'
kubelet-certificate-expired.breaks() {
  cd /var/lib/kubelet/pki && readlink kubelet-client-current.pem >/root/current
  openssl req -new -newkey rsa:2048 -nodes -keyout /root/old.key -subj /CN=old -out /root/old.csr 2>/dev/null
  # From 3.4 openssl takes no negative number of days, and has options for dates.
  openssl x509 -req -in /root/old.csr -signkey /root/old.key -days -1 -out old.pem 2>/dev/null ||
    openssl x509 -req -in /root/old.csr -signkey /root/old.key -not_before 20250101000000Z -not_after 20250201000000Z -out old.pem 2>/dev/null
  ln -sf /var/lib/kubelet/pki/old.pem kubelet-client-current.pem
}
kubelet-certificate-expired.repairs() { ln -sf "$(cat /root/current)" /var/lib/kubelet/pki/kubelet-client-current.pem && rm /var/lib/kubelet/pki/old.pem; }

fault network-file-gone node net.cni-config-present 'The network plugin'"'"'s configuration is missing'
network-file-gone.breaks() { mv /etc/cni/net.d /root/; }
network-file-gone.repairs() { mv /root/net.d /etc/cni/; }

fault packets-not-forwarded node kernel.sysctl.ip-forward 'The kernel does not forward packets'
packets-not-forwarded.breaks() { sysctl -qw net.ipv4.ip_forward=0; }
packets-not-forwarded.repairs() { sysctl -qw net.ipv4.ip_forward=1; }

fault bridges-not-filtered node kernel.sysctl.bridge-nf-call 'Packets over a bridge bypass iptables'
bridges-not-filtered.breaks() { sysctl -qw net.bridge.bridge-nf-call-iptables=0; }
bridges-not-filtered.repairs() { sysctl -qw net.bridge.bridge-nf-call-iptables=1; }

fault kubelet-asks-another-runtime node rt.cri.socket 'The kubelet uses the socket of another runtime'
kubelet-asks-another-runtime.breaks() {
  cp /var/lib/kubelet/config.yaml /root/
  sed -i '/^containerRuntimeEndpoint:/d' /var/lib/kubelet/config.yaml # newer versions of kubeadm write one
  echo 'containerRuntimeEndpoint: unix:///run/crio/crio.sock' >>/var/lib/kubelet/config.yaml
}
kubelet-asks-another-runtime.repairs() { mv /root/config.yaml /var/lib/kubelet/; }

fault zombies node kernel.zombies 'A program leaves zombie processes'
zombies.breaks() {
  systemd-run -q --collect --unit=squatter perl -e 'for (1..30) { fork or exit } sleep 600'
  sleep 0.3
}
zombies.repairs() { systemctl stop squatter; }

# --- a cluster -------------------------------------------------------------------------------------------

fault node-tainted cluster cl.nodes-taints 'The only node has the control-plane taint'
node-tainted.breaks() { kubectl taint node --all node-role.kubernetes.io/master=:NoSchedule; }
node-tainted.repairs() { kubectl taint node --all node-role.kubernetes.io/master-; }

fault image-cannot-be-pulled cluster cl.image-pull-secrets 'The image of a pod cannot be pulled' cl.pod-reasons
image-cannot-be-pulled.breaks() {
  kubectl run puller --image=registry.invalid/none:1
  until kubectl get pod puller | grep -qE 'ErrImagePull|ImagePullBackOff'; do sleep 0.5; done
}
image-cannot-be-pulled.repairs() { kubectl delete pod puller --force --grace-period=0; }

fault pod-crashes cluster cl.pod-reasons 'A pod crashes repeatedly'
pod-crashes.breaks() {
  kubectl run crasher --image=lab.local/sleep:1 --image-pull-policy=Never --overrides='{"spec":{"containers":[{"name":"crasher","image":"lab.local/sleep:1","imagePullPolicy":"Never","command":["/nothing"]}]}}'
  until kubectl get pod crasher | grep -qE 'CrashLoopBackOff|RunContainerError|StartError'; do sleep 0.5; done
}
pod-crashes.repairs() { kubectl delete pod crasher --force --grace-period=0; }

fault webhook-without-pods cluster cl.webhooks-blocking 'A webhook without endpoints blocks the creation of pods'
webhook-without-pods.breaks() {
  kubectl apply -f - <<'Y'
apiVersion: v1
kind: Service
metadata: { name: guard }
spec: { ports: [{ port: 443 }], selector: { app: guard } }
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: guard }
webhooks:
  - name: guard.example.com
    clientConfig: { service: { name: guard, namespace: default }, caBundle: "" }
    rules: [{ apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods] }]
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
Y
}
webhook-without-pods.repairs() { kubectl delete validatingwebhookconfiguration guard && kubectl delete service guard; }

fault system-pod-crashes cluster cl.system-pods 'kube-proxy does not start with its configuration'
system-pod-crashes.breaks() {
  kubectl -n kube-system patch ds kube-proxy --type=json -p '[{"op":"add","path":"/spec/template/spec/containers/0/command/-","value":"--no-such-flag"}]'
  until kubectl -n kube-system get pods -l k8s-app=kube-proxy | grep -qE 'CrashLoopBackOff +[3-9]'; do sleep 0.5; done
}
system-pod-crashes.repairs() {
  kubectl -n kube-system rollout undo ds kube-proxy
  kubectl -n kube-system delete pods -l k8s-app=kube-proxy --now --wait=false
  kubectl -n kube-system rollout status ds kube-proxy --timeout=180s
}

fault api-certificate-expired cluster cl.certs-expiry 'A certificate of the control plane has expired'
api-certificate-expired.breaks() {
  cp /etc/kubernetes/pki/front-proxy-client.crt /root/
  openssl req -new -key /etc/kubernetes/pki/front-proxy-client.key -subj /CN=front-proxy-client >/root/front-proxy.csr
  set -- -req -in /root/front-proxy.csr -CA /etc/kubernetes/pki/front-proxy-ca.crt -CAkey /etc/kubernetes/pki/front-proxy-ca.key \
    -CAcreateserial -out /etc/kubernetes/pki/front-proxy-client.crt
  openssl x509 "$@" -days -1 2>/dev/null || openssl x509 "$@" -not_before 20250101000000Z -not_after 20250201000000Z 2>/dev/null
}
api-certificate-expired.repairs() { mv /root/front-proxy-client.crt /etc/kubernetes/pki/; }

fault node-not-ready cluster cl.nodes-ready 'A node is not ready: its network plugin has no configuration'
node-not-ready.breaks() {
  mv /etc/cni/net.d /root/
  systemctl restart containerd
  until kubectl get nodes | grep -qw NotReady; do sleep 0.5; done
}
node-not-ready.repairs() {
  mv /root/net.d /etc/cni/
  until kubectl get nodes | grep -qw Ready; do sleep 0.5; done
}
