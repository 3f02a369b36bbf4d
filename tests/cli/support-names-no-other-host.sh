#!/usr/bin/env bash
# An archive has the runs of its hosts only, and no name that a run of them contains.
. "$(dirname "$0")/common"

# archived ARGUMENT...: the archive of hosts that do not answer is in the directory archive.
archived() {
  rm -rf archive archive.tar.gz
  exits 4 gpuadm support "$@" -o archive.tar.gz
  mkdir archive
  tar -xzf archive.tar.gz -C archive --strip-components 1
}
# has_none NAME...: no file of the archive has one of the names.
has_none() {
  local name
  for name; do
    ! grep -rq -- "$name" archive || fail "the archive has $name: $(grep -rl -- "$name" archive)"
  done
}

exits 4 gpuadm facts janedoe@db7.acme-bank.invalid --ssh-client libssh2
archived janedoe@web1.other.invalid --ssh-client libssh2
[ ! -e archive/runs ] || fail "the archive has a run of another host"
has_none acme-bank db7 janedoe web1 other.invalid

# The same host, as another user.
archived root@db7.acme-bank.invalid --ssh-client libssh2
compgen -G "archive/runs/*/cluster.yaml" >/dev/null || fail "the archive has no run"
has_none acme-bank db7 janedoe

cat >leak.yaml <<'END'
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
name: leak
ssh: { client: libssh2, identityFile: /home/operator7/.ssh/id }
proxy: { http: "http://gate3.corp-net.invalid:3128", noProxy: [.intra-net.invalid] }
mirrors: { registries: { docker.io: "https://harbor5.corp-net.invalid" } }
serve: [{ name: chatm3, namespace: vision9, image: "harbor8.corp-net.invalid/llm:1", serverPort: 80, health: /h, hubTokenFile: /home/operator7/token }]
users: [{ name: carolmay, namespace: vision9, group: "oidc:teamx7", server: "https://api9.corp-net.invalid" }]
hosts:
  - { name: cp1, address: 127.0.0.1, port: 1, user: janedoe, role: controlPlane }
  - { name: gpu2, address: db7.acme-bank.invalid, user: bobsmith }
END
exits 4 gpuadm facts -f leak.yaml
archived cp1 -f leak.yaml
[ ! -e archive/runs ] || fail "the archive has a run of another host"
has_none acme-bank db7 janedoe bobsmith operator7 gate3 corp-net harbor5 intra-net carolmay vision9 teamx7 api9 chatm3 harbor8
archived -f leak.yaml
compgen -G "archive/runs/*/cluster.yaml" >/dev/null || fail "the archive has no run"
has_none acme-bank db7 janedoe bobsmith operator7 gate3 corp-net harbor5 intra-net carolmay vision9 teamx7 api9 chatm3 harbor8
grep -rq docker.io archive/runs || fail "the name of a public registry is replaced"
