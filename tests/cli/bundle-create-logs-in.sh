#!/usr/bin/env bash
# bundle create reads images of registries that want a login, by HTTP's Basic scheme (Debian's docker-registry) and for a token,
# and goes through the mirrors and the proxy of the cluster file. No secret stands in arguments or in what is said.
. "$(dirname "$0")/common"
needs python3 docker-registry skopeo perl
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY

# Below the ports that connections get for themselves.
port=$((20000 + $$ % 6000)) registry=$((26000 + $$ % 6000))
bin=mirror/files.lab/bin
mkdir -p "$bin" image assets/data empty
printf '#!/bin/sh\necho k8s.gcr.io/pause:3.2\n' >"$bin/kubeadm"
sha256sum <"$bin/kubeadm" | cut -d' ' -f1 >"$bin/kubeadm.sha256"
cat >assets/data/sources.yaml <<'END'
files:
  - { part: kubernetes, kind: binary, url: "http://files.lab/bin/kubeadm", sum: "http://files.lab/bin/kubeadm.sha256", target: /usr/bin/kubeadm }
images: []
END

# An image, in a registry that lets in whom its file of passwords names.
tar -C empty -cf image/layer.tar .
printf '{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
  "$(sha256sum <image/layer.tar | cut -d' ' -f1)" >image/config.json
printf '[{"Config":"config.json","RepoTags":["pause:3.2"],"Layers":["layer.tar"]}]' >image/manifest.json
tar -C image -cf image.tar manifest.json config.json layer.tar
# shellcheck disable=SC2016 # of bcrypt
perl -e 'print "user:", crypt("secret of the user", q($2y$05$abcdefghijklmnopqrstuu)), "\n"' >passwords
printf 'version: 0.1\nstorage: { filesystem: { rootdirectory: %s } }\nhttp: { addr: "127.0.0.1:%s" }\nauth: { htpasswd: { realm: lab, path: %s } }\n' \
  "$place/registry" "$registry" "$place/passwords" >registry.yml
docker-registry serve registry.yml >registry.log 2>&1 &
servers=$!
"$top/tests/lib/awkward-server" "$port" mirror >server.log 2>&1 &
servers="$servers $!"
# shellcheck disable=SC2086 # two
trap 'kill $servers; rm -rf "$place"' EXIT
for at in "$port" "$registry"; do
  for _ in $(seq 100); do
    (: <"/dev/tcp/127.0.0.1/$at") 2>/dev/null && break
    sleep 0.1
  done
done
skopeo --insecure-policy copy -q --dest-tls-verify=false --dest-creds 'user:secret of the user' docker-archive:image.tar \
  "docker://127.0.0.1:$registry/pause:3.2" >skopeo.log 2>&1 || fail "skopeo: $(cat skopeo.log)"

(umask 77 && echo 'proxy:secret of the proxy' >proxy-login)
cluster() { # cluster PROXY REGISTRY
  cat >cluster.yaml <<END
apiVersion: gpuadm/v1alpha1
kind: GpuCluster
hosts: [{ name: a, address: 192.0.2.1 }]
mirrors: { registries: { k8s.gcr.io: "$2" } }
proxy: { http: "$1", noProxy: [login.lab], loginFile: $place/proxy-login }
END
}
count=0
create() { # into a new directory
  count=$((count + 1))
  XDG_CACHE_HOME=$place/cache-$count gpuadm bundle create --for cluster.yaml --kubernetes-version 1.20.2 --assets assets --skip coredns,network \
    -o "b$count.tar.zst" "$@"
}
logins() { # logins FILE HOST USER:PASSWORD
  rm -f "$1"
  (umask 77 && printf '{"auths":{"%s":{"auth":"%s"}}}' "$2" "$(printf %s "$3" | base64 -w 0)" >"$1")
}
secretive() {
  ! grep -rqF -e 'secret of the' -e "$(printf 'user:secret of the user' | base64 -w 0)" out err || fail "a secret is shown: $(cat out err)"
}
cluster "http://127.0.0.1:$port" "http://127.0.0.1:$registry"

# By Basic, from the file that is named, or Docker's own.
logins mine "127.0.0.1:$registry" 'user:secret of the user'
exits 0 create --registry-logins mine
secretive
exits 0 gpuadm bundle inspect b1.tar.zst
says "k8s.gcr.io/pause:3.2"
mkdir .docker && cp mine .docker/config.json
exits 0 create
grep -q '/files.lab/bin/kubeadm\|http://files.lab/bin/kubeadm' server.log || fail "the proxy was not asked: $(cat server.log)"

# For a token; the login is for the host that is asked.
mkdir -p mirror/login.lab && sum() { sha256sum <"$1" | cut -d' ' -f1; }
mkdir -p mirror/login.lab/v2/pause/{blobs,manifests}
for file in config.json layer.tar; do cp "image/$file" "mirror/login.lab/v2/pause/blobs/sha256:$(sum "image/$file")"; done
printf '{"schemaVersion":2,"config":{"digest":"sha256:%s","size":%s},"layers":[{"digest":"sha256:%s","size":%s}]}' "$(sum image/config.json)" \
  "$(stat -c %s image/config.json)" "$(sum image/layer.tar)" "$(stat -c %s image/layer.tar)" >mirror/login.lab/v2/pause/manifests/3.2
logins token "127.0.0.1:$port" 'user:secret of the user'
cluster "http://127.0.0.1:$port" "http://127.0.0.1:$port/login.lab/v2"
exits 0 create --registry-logins token
secretive
logins token "127.0.0.1:$port" 'user:wrong'
exits 4 create --registry-logins token
complains "rejects the login in token"
exits 4 create --registry-logins mine
complains "requires a login"
complains "mine has no login for 127.0.0.1:$port"

cluster "http://127.0.0.1:$port" "http://127.0.0.1:$registry"
logins mine "127.0.0.1:$registry" 'user:wrong'
exits 4 create --registry-logins mine
complains "rejects the login in mine"
rm -r .docker
exits 4 create
complains "k8s.gcr.io/pause: the registry requires a login"
complains "docker login 127.0.0.1:$registry"
mkdir .docker && echo '{"credsStore":"pass"}' >.docker/config.json
exits 4 create
complains "credential helper, which gpuadm does not run"
rm -r .docker

# Invalid files.
chmod 644 mine
exits 2 create --registry-logins mine
complains "chmod 600 'mine'"
(umask 77 && echo 'user:secret of the user' >bare)
exits 2 create --registry-logins bare
complains "bare: not a JSON object"
secretive

# A proxy that wants another login, and one that is not there; the environment's goes first.
(umask 77 && echo 'proxy:other' >proxy-login)
exits 4 create
complains "HTTP status 407"
complains "proxy.loginFile"
cluster "http://127.0.0.1:9" "http://127.0.0.1:$registry"
exits 4 create
complains "http://127.0.0.1:9, or set another one in https_proxy"
logins mine "127.0.0.1:$registry" 'user:secret of the user'
export http_proxy="http://proxy:secret%20of%20the%20proxy@127.0.0.1:$port" no_proxy=127.0.0.1
exits 0 create --registry-logins mine
