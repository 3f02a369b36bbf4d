#!/usr/bin/env bash
# Without a host, init works on the machine that it runs on: no SSH, no cluster file but the lab's own need.
. "$(dirname "$0")/common"

lab up desk
on desk 'mkdir -p /opt/gpuadm/lib /var/lib/bundle'
mkdir lib
ldd "$GPUADM" | awk '$2 == "=>" { print $3 }' | xargs -I{} cp -L {} lib/
cp -L "$(ldd "$GPUADM" | awk '$1 ~ /ld-linux/ { print $1 }')" lib/ld.so
cp "$GPUADM" lib/gpuadm
cat >lib/cluster.yaml <<'END'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
network: { plugin: bridge }
hosts: [{ local: true }]
END
lab patches >>lib/cluster.yaml
tar -C lib -cf - . | on desk 'tar -C /opt/gpuadm/lib -xf -'
tar -C "$bundle" -cf - . | on desk 'tar -C /var/lib/bundle -xf -'
desk() { on desk "cd /root && /opt/gpuadm/lib/ld.so --library-path /opt/gpuadm/lib /opt/gpuadm/lib/gpuadm $*"; }

exits 0 desk init -f /opt/gpuadm/lib/cluster.yaml --bundle /var/lib/bundle -y
has_a_cluster desk
exits 0 desk init -f /opt/gpuadm/lib/cluster.yaml --bundle /var/lib/bundle -y
says "0 changed"
exits 0 on desk 'kubectl --kubeconfig /root/.kube/config get nodes'
says " Ready "
