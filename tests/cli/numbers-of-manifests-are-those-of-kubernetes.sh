#!/usr/bin/env bash
# Numbers and words of a manifest are read as Kubernetes reads them, so that the preview shows what is created; in patches of the cluster file, what
# Kubernetes reads as another value is refused.
. "$(dirname "$0")/common"

# manifest VOLUME: of a Job.
manifest() {
  cat >job.yaml <<END
apiVersion: batch/v1
kind: Job
metadata: { name: mnist }
spec:
  completions: 1
  parallelism: 1
  template:
    spec:
      restartPolicy: Never
      containers: [{ name: a, image: b, command: [c] }]
      volumes: [{ name: key, $1 }]
END
}
run() { gpuadm train run -o yaml --offline -f job.yaml; }

manifest 'secret: { secretName: key, defaultMode: 0400 }'
exits 0 run
says "defaultMode: 256"
manifest 'configMap: { name: key, defaultMode: 0o755, optional: yes }'
exits 0 run
says "defaultMode: 493"
says "optional: true"
manifest 'configMap: { name: key, defaultMode: 420 }'
exits 0 run
says "defaultMode: 420"
manifest 'configMap: { name: key, on: a }'
exits 2 run
complains "job.yaml:11:54: Kubernetes does not read the key on as 'on': quote it"
manifest 'configMap: { name: key, defaultMode: .inf }'
exits 2 run
complains "Kubernetes does not read the number .inf"

lint() {
  printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: a }]\npatches: { kubelet: { %s } }\n' "$1" >cluster.yaml
  gpuadm config lint -f cluster.yaml
}
exits 2 lint 'podPidsLimit: 0400'
complains "cluster.yaml:4:37: patches.kubelet.podPidsLimit: Kubernetes reads 0400 as 256: write 256, or quote it"
exits 2 lint 'failSwapOn: no'
complains "patches.kubelet.failSwapOn: Kubernetes reads no as false: write false, or quote it"
exits 2 lint 'a: { b: [.inf] }'
complains "patches.kubelet.a.b[]: Kubernetes does not read the number .inf"
exits 0 lint 'podPidsLimit: 400, failSwapOn: false, a: "0400", b: 1.5, c: 85.0, d: 1e3'
