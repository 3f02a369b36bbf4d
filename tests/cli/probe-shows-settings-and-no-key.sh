#!/usr/bin/env bash
# The probe shows the control plane's flags and what the benchmark asks of the files that they name, and no key of them; a recording of it
# is judged alike.
. "$(dirname "$0")/common"
[ "$(id -u)" = 0 ] || { echo "skip: needs root" && exit 77; }
needs unshare jq

secret=YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY=
mkdir -p etc/manifests etc/pki etc/gpuadm
cat >etc/manifests/kube-apiserver.yaml <<END
spec:
  containers:
  - command:
    - kube-apiserver
    - --encryption-provider-config=/etc/kubernetes/gpuadm/encryption.yaml
    - "--authentication-config=/etc/kubernetes/gpuadm/authentication.yaml"
    - --audit-policy-file=/etc/kubernetes/gpuadm/audit.yaml
    - --authorization-config=/etc/kubernetes/gpuadm/authorization.yaml
    - --admission-control-config-file=/etc/kubernetes/gpuadm/admission.yaml
    - --profiling
    - false
    - --etcd-servers=https://user:planted@127.0.0.1:2379
    image: registry.k8s.io/kube-apiserver:v1.36.2
    name: kube-apiserver
  - command:
    - kms-plugin
    - --other=planted
END
cat >etc/manifests/etcd.yaml <<END
spec:
  containers:
  - name: etcd
    command:
    - etcd
    args:
    # the folder
    - --data-dir=/etc/kubernetes/data
    - --auto-tls
END
cat >etc/manifests/kube-scheduler.yaml <<END
spec:
  containers:
  - command: ["kube-scheduler", "--profiling=false"]
END
cat >etc/manifests/kube-controller-manager.yaml <<END
spec:
  containers:
  - command:
    - kube-controller-manager
    - --profiling=false
    image: registry.k8s.io/kube-controller-manager:v1.36.2
    args:
    - --profiling=true
END
cat >etc/gpuadm/encryption.yaml <<END
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: # all that is secret
  - secrets
  - "configmaps"
  providers:
  - secretbox:
      keys:
      - name: planted
        secret: $secret
  - aescbc: {keys: [{name: planted, secret: $secret}]}
  - identity: {}
- resources: ["*.*"]
  providers:
  - aesgcm:
      keys:
      - {name: planted, secret: $secret}
END
cat >etc/gpuadm/authentication.yaml <<END
kind: AuthenticationConfiguration
jwt:
- issuer: {url: "https://planted.example"}
anonymous:
  enabled: true
  conditions:
  - path: /livez
END
cat >etc/gpuadm/audit.yaml <<END
kind: Policy
rules:
- level: None
  users: [planted]
- {level: "RequestResponse", verbs: [create]}
- verbs: [get]
  level: Metadata
END
cat >etc/gpuadm/authorization.yaml <<END
kind: AuthorizationConfiguration
authorizers:
- type: Node
- type: Webhook
  webhook: {connectionInfo: {type: KubeConfigFile, kubeConfigFile: /planted}}
END
cat >etc/gpuadm/admission.yaml <<END
kind: AdmissionConfiguration
plugins:
- name: EventRateLimit
  configuration:
    limits:
    - type: Server
      qps: 50
- name: PodSecurity
  path: pods.yaml
END
cat >etc/gpuadm/pods.yaml <<END
kind: PodSecurityConfiguration
defaults:
  enforce: baseline
exemptions:
  namespaces: [planted]
END
mkdir -m 750 etc/data
touch etc/admin.conf etc/pki/sa.key
chmod 640 etc/admin.conf

inside() { # inside COMMAND…: where /etc/kubernetes is ours
  unshare -m bash -s "$@" <<'END'
    mkdir -p /etc/kubernetes && mount --bind etc /etc/kubernetes || exit 77
    exec "$@"
END
}
inside sh "$top/playbooks/probe.sh" >probe.txt || exit $?
! grep -E "$secret|planted|KubeConfigFile" probe.txt || fail "the probe shows more than it is to"
part() { awk -v name="=== $1" '/^===/ { on = $0 == name; next } on && sub(/^[|] /, "")' probe.txt; }
diff - <(part static-pods) <<'END'
kube-apiserver
kube-apiserver --encryption-provider-config=/etc/kubernetes/gpuadm/encryption.yaml
kube-apiserver --authentication-config=/etc/kubernetes/gpuadm/authentication.yaml
kube-apiserver --audit-policy-file=/etc/kubernetes/gpuadm/audit.yaml
kube-apiserver --authorization-config=/etc/kubernetes/gpuadm/authorization.yaml
kube-apiserver --admission-control-config-file=/etc/kubernetes/gpuadm/admission.yaml
kube-apiserver --profiling=false
kube-apiserver image=registry.k8s.io/kube-apiserver:v1.36.2
kube-apiserver --etcd-servers=https://***@127.0.0.1:2379
kube-controller-manager
kube-controller-manager image=registry.k8s.io/kube-controller-manager:v1.36.2
kube-controller-manager !
kube-controller-manager --profiling=false
etcd
etcd --data-dir=/etc/kubernetes/data
etcd --auto-tls
END
diff - <(part kube-apiserver/encryption-provider-config) <<'END'
kind: EncryptionConfiguration
resources:
- resources:
  - secrets
  - "configmaps"
  providers:
  - secretbox:
  - aescbc:
  - identity:
- resources: ["*.*"]
  providers:
  - aesgcm:
END
[ "$(part kube-apiserver/audit-policy-file | tail -n +2 | tr '\n' ,)" = 'level None,level RequestResponse,level Metadata,' ]
[ "$(part kube-apiserver/authorization-config | tail -n +2 | tr '\n' ,)" = 'type Node,type Webhook,' ]
part file-modes | grep -qx '640 root root /etc/kubernetes/admin.conf'
part file-modes | grep -qx '750 root root /etc/kubernetes/data'

status=0
inside "$GPUADM" doctor --only sec.cis. --record kept -o json >here.json 2>err || status=$?
[ "$status" = 0 ] || fail "exit $status: $(cat err)"
exits 0 gpuadm doctor --stage security --from kept -o json
judged() { jq -r '.findings[] | select(.id != "host.ssh.reachable") | "\(.id) \(.result) \(.severity)"' "$1"; }
diff <(judged here.json) <(judged out)
for line in '1.2.1 pass note' '1.2.15 pass note' '1.2.28 pass note' '1.3.2 unknown note' '1.4.1 unknown note' '2.3 fail warning' \
  '3.2.1 pass note' '5.2.1 pass note' '1.1.11 fail note' '1.1.13 fail note'; do
  judged out | grep -qx "sec.cis.$line" || fail "not $line: $(judged out | grep "^sec.cis.${line%% *} ")"
done
! grep -rE "$secret|planted" kept || fail "the recording shows more than it is to"
