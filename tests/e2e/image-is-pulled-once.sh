#!/usr/bin/env bash
# `gpuadm image pull`: each blob of an image is downloaded once, all nodes have the image afterwards, and a pod on each of them starts
# without a registry. A second run downloads and changes nothing; an image that does not exist changes nothing.
. "$(dirname "$0")/common"

ready_nodes 1 node other
kube() { administer node "$@"; }
a_registry
client=10.77.0.1
lab net skopeo copy --dest-tls-verify=false "docker-archive:$bundle/images/sleep.tar" "docker://$client:5000/lab/once:1" >out 2>err ||
  fail "the registry takes no image"
mirror=once.local=http://$client:5000
images() { on "$1" ctr -n k8s.io images ls -q; }
blobs() { grep -c '"GET /v2/lab/once/blobs/' served || :; } # of the list of requests that the registry prints
for name in node other; do images "$name" | sort >"before.$name"; done
pushed=$(blobs)

exits 2 gpuadm image pull once.local/lab/none:1 -f cluster.yaml --mirror "$mirror"
complains "image once.local/lab/none:1"
# A framework by its name is the image of notebooks.
exits 2 gpuadm image pull pytorch -f cluster.yaml --mirror "quay.io=http://$client:5000"
complains "image quay.io/jupyter/pytorch-notebook:"
exits 2 gpuadm image pull 'once.local/Lab:1' -f cluster.yaml
for name in node other; do images "$name" | sort | diff "before.$name" - || fail "a pull that failed left an image"; done

exits 0 gpuadm image pull once.local/lab/once:1 -f cluster.yaml --mirror "$mirror"
for name in node other; do images "$name" | grep -qxF once.local/lab/once:1 || fail "$name has no image"; done
got=$(blobs)
[ "$got" -gt "$pushed" ] || fail "the registry has answered no request for a blob"
# Each blob once, for two nodes.
[ "$(grep -c '^fetching .*/blobs/' err)" = "$(grep '^fetching .*/blobs/' err | sort -u | wc -l)" ] || fail "a blob was fetched twice"
[ $((got - pushed)) -le "$(grep -c '^fetching .*/blobs/' err)" ] || fail "$((got - pushed)) requests for blobs"

exits 0 gpuadm image pull once.local/lab/once:1 -f cluster.yaml --mirror "$mirror"
says "nothing to do"
[ "$(blobs)" = "$got" ] || fail "the second run downloads again"

# No node reaches once.local.
for name in node other; do
  kube create -f - <<END
apiVersion: v1
kind: Pod
metadata: { name: on-$name }
spec:
  nodeSelector: { kubernetes.io/hostname: $name }
  tolerations: [{ operator: Exists }]
  containers: [{ name: sleep, image: "once.local/lab/once:1", imagePullPolicy: IfNotPresent }]
END
done
kube wait --for=condition=Ready pod/on-node pod/on-other --timeout=120s >out || fail "$(kube get pods -o wide; kube describe pods | tail -n 30)"
kube delete pod on-node on-other --now >/dev/null
