#!/usr/bin/env bash
# Some hosts of a cluster can be recorded, and the recording can be read: workers, two of three control planes,
# and hosts without a cluster file.
. "$(dirname "$0")/common"

cat >cluster.yaml <<'END'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
controlPlane: { endpoint: "api.lab.example:6443" }
ssh: { client: libssh2 }
storage: [{ name: data, kind: local, host: cp1, path: /data }]
hosts:
  - { name: cp1, address: 127.0.0.1, port: 1, user: me, role: controlPlane }
  - { name: cp2, address: 127.0.0.2, port: 1, user: me, role: controlPlane }
  - { name: cp3, address: 127.0.0.3, port: 1, user: me, role: controlPlane }
  - { name: gpu1, address: 127.0.0.4, port: 1, user: me }
END
# recorded DIR ARGUMENT...: of hosts that do not answer, the recording has the reason.
recorded() {
  exits 4 gpuadm doctor --record "$@"
  exits 4 gpuadm doctor --from "$1"
  says "connection refused"
}
recorded workers gpu1 -f cluster.yaml
recorded even cp1 cp2 gpu1 -f cluster.yaml
recorded targets me@127.0.0.1:1 me@127.0.0.2:1 --ssh-client libssh2

exits 4 gpuadm support gpu1 -f cluster.yaml -o workers.tar.gz
[ -s workers.tar.gz ] || fail "there is no archive"
exits 4 gpuadm support cp1 cp2 gpu1 -f cluster.yaml -o even.tar.gz
[ -s even.tar.gz ] || fail "there is no archive"
