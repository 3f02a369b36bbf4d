# shellcheck shell=sh disable=SC2034,SC2154
# Functions of the virtual address of several control planes: kube-vip runs as a static pod on each of them. The holder of the lease
# plndr-cp-lock has the address on its interface and announces it by ARP (https://kube-vip.io/docs/installation/static/).

vip_manifest=/etc/kubernetes/manifests/kube-vip.yaml

# vip_text KUBECONFIG. The alias is required because the API server's certificate contains the name kubernetes, but not 127.0.0.1.
vip_text() {
  cat <<END
# Written by gpuadm. One of the control planes has the virtual address.
apiVersion: v1
kind: Pod
metadata:
  name: kube-vip
  namespace: kube-system
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  hostAliases: [{ ip: 127.0.0.1, hostnames: [kubernetes] }]
  containers:
    - name: kube-vip
      image: $kube_vip_image
      imagePullPolicy: IfNotPresent
      args: [manager]
      env:
        - { name: address, value: "$virtual_address" }
        - { name: port, value: "6443" }
        - { name: vip_interface, value: "$virtual_interface" }
        - { name: vip_subnet, value: "$(case $virtual_address in *:*) echo 128 ;; *) echo 32 ;; esac)" }
        - { name: vip_arp, value: "true" }
        - { name: cp_enable, value: "true" }
        - { name: cp_namespace, value: kube-system }
        - { name: vip_nodename, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }
        - { name: vip_leaderelection, value: "true" }
        - { name: vip_leasename, value: plndr-cp-lock }
        - { name: vip_leaseduration, value: "5" }
        - { name: vip_renewdeadline, value: "3" }
        - { name: vip_retryperiod, value: "1" }
        - { name: prometheus_server, value: "127.0.0.1:2112" }
      securityContext: { capabilities: { drop: [ALL], add: [NET_ADMIN, NET_RAW] } }
      volumeMounts: [{ name: kubeconfig, mountPath: /etc/kubernetes/admin.conf, readOnly: true }]
  volumes: [{ name: kubeconfig, hostPath: { path: $1, type: File } }]
END
}

# From 1.29 on admin.conf has no permissions before kubeadm init has completed, but super-admin.conf has
# (kubernetes/kubernetes#121305).
vip_first_config() {
  if [ "${kubernetes_minor#*.}" -ge 29 ]; then echo /etc/kubernetes/super-admin.conf; else echo /etc/kubernetes/admin.conf; fi
}

vip_is_there() {
  [ "$(cat "$vip_manifest" 2>/dev/null)" = "$(vip_text "$1")" ] || { vip_text "$1" | would_become "$vip_manifest" && return 1; }
}
# The kubelet starts every file in the folder except hidden files.
vip_put() {
  journal_original "$vip_manifest"
  mkdir -p "${vip_manifest%/*}"
  (umask 077 && vip_text "$1" >"${vip_manifest%/*}/.kube-vip.yaml.gpuadm")
  mv -f "${vip_manifest%/*}/.kube-vip.yaml.gpuadm" "$vip_manifest"
}
vip_api_answers() { kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s get --raw /healthz >/dev/null 2>&1; }

# vip_neighbour: the MAC address of the host that has the address, if any. Any packet to the address triggers the kernel's ARP
# request.
vip_neighbour() {
  if have ping; then
    ping -c 1 -W 1 "$virtual_address" >/dev/null 2>&1 || : "what counts is who answers to ARP"
  elif have curl; then
    curl -k -s -m 2 "https://$(case $virtual_address in *:*) printf '[%s]' "$virtual_address" ;; *) printf %s "$virtual_address" ;; esac):6443/" >/dev/null 2>&1 || : "the same"
  fi
  in_time 12 vip_neighbour_is_known || :
  ip neigh show to "$virtual_address" 2>/dev/null | sed -nE 's/.* lladdr ([0-9a-f:]+) .*/\1/p' | head -n 1
}
# An address that was in use is probed again before it counts as free, because the kernel's ARP cache entry takes seconds to expire.
vip_neighbour_is_known() {
  case $(ip neigh show to "$virtual_address" 2>/dev/null) in *STALE* | *DELAY* | *PROBE* | *INCOMPLETE*) return 1 ;; esac
}
vip_is_free() {
  [ -z "$(ip -o addr show to "$virtual_address" 2>/dev/null)" ] ||
    die "the virtual address $virtual_address is already assigned to this host: choose another controlPlane.virtualAddress"
  vip_other=$(vip_neighbour)
  [ -z "$vip_other" ] ||
    die "the virtual address $virtual_address is already in use by $vip_other: choose another controlPlane.virtualAddress"
}
