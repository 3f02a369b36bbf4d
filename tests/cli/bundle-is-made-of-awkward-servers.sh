#!/usr/bin/env bash
# Downloads from a registry that requires a token and drops every other connection are continued; an HTML page, a damaged bundle and one that was
# else has signed are refused by name. kubeadm is a double here: it names one image.
. "$(dirname "$0")/common"
needs python3 ssh-keygen

bin=mirror/dl.k8s.io/release/v1.20.2/bin/linux
pause=mirror/k8s.gcr.io/v2/pause
mkdir -p "$bin/amd64" "$bin/arm64" "$pause/blobs" "$pause/manifests"
printf '#!/bin/sh\necho k8s.gcr.io/pause:3.2\n' >"$bin/amd64/kubeadm"
echo kubelet >"$bin/amd64/kubelet"
echo kubectl >"$bin/amd64/kubectl"
for program in kubeadm kubelet kubectl; do
  sha256sum <"$bin/amd64/$program" | cut -d' ' -f1 >"$bin/amd64/$program.sha256"
  cp "$bin/amd64/$program" "$bin/amd64/$program.sha256" "$bin/arm64/"
done
part() { # part FILE: into the registry; its descriptor
  sum=$(sha256sum <"$1" | cut -d' ' -f1)
  cp "$1" "$pause/blobs/sha256:$sum"
  printf '{"digest":"sha256:%s","size":%s}' "$sum" "$(stat -c %s "$1")"
}
echo '{"architecture":"amd64"}' >config
head -c 3000000 /dev/urandom >layer
printf '{"schemaVersion":2,"config":%s,"layers":[%s]}' "$(part config)" "$(part layer)" >"$pause/manifests/3.2"

# Below the ports that connections get for themselves.
port=$((20000 + $$ % 6000))
"$top/tests/lib/awkward-server" "$port" mirror >server.log 2>&1 &
server=$!
trap 'kill $server; rm -rf "$place"' EXIT
for _ in $(seq 100); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  sleep 0.1
done

printf 'apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nname: lab\nhosts: [{ name: a, address: 192.0.2.1 }]\n' >cluster.yaml
create() {
  gpuadm bundle create --for cluster.yaml --kubernetes-version 1.20.2 --source "http://127.0.0.1:$port$source" \
    --skip coredns,crictl,cni,runtime,toolkit,network,device-plugin "$@"
}
source=
ssh-keygen -q -t ed25519 -N '' -C one -f one
ssh-keygen -q -t ed25519 -N '' -C two -f two
exits 0 create -o b.tar.zst --sign one
complains "fetching https://k8s.gcr.io/v2/pause/blobs/sha256:"
grep -qE 'blobs/sha256:[0-9a-f]+ bytes=1500000-' server.log || fail "no download was continued: $(cat server.log)"
exits 0 gpuadm bundle inspect b.tar.zst -o json
says '"signed": true'
exits 0 create -o b --sign one
exits 0 gpuadm bundle diff b b.tar.zst
says "the same"
[ -z "$(find .cache -name '*.part')" ] || fail "something was left behind"

# Who has signed it counts.
echo "one@example.com $(cut -d' ' -f1,2 one.pub)" >signers
exits 0 gpuadm bundle verify b --signers signers
says "signed by one@example.com"
exits 0 create -o two.tar.zst --sign two
exits 2 gpuadm bundle verify two.tar.zst --signers signers
complains "the signature is not from a signer in signers"
cp -r b changed && sed -i 's/absent:.*/absent: []/' changed/manifest.yaml
exits 2 gpuadm bundle verify changed --signers signers
exits 0 create -o none
mkdir -p .config/gpuadm && cp signers .config/gpuadm/allowed_signers
exits 2 gpuadm init -f cluster.yaml --bundle none -y
complains "none: not signed"
rm -r .config

# Each file in turn: longer, and with one bit changed, at its begin, in its middle, at its end. In manifest and signature: bytes all over.
flip() { # flip FILE BYTE
  python3 -c 'import sys
with open(sys.argv[1], "r+b") as file:
    content = bytearray(file.read())
    content[int(sys.argv[2])] ^= 1
    file.seek(0)
    file.write(content)' "$@"
}
for file in b/blobs/*; do
  cp "$file" kept
  printf x >>"$file"
  exits 2 gpuadm bundle verify b
  complains "$file: $(($(stat -c %s kept) + 1)) bytes, expected"
  size=$(stat -c %s kept)
  for byte in 0 $((size / 2)) $((size - 1)); do
    cp kept "$file" && flip "$file" "$byte"
    exits 2 gpuadm bundle verify b
    complains "$file: its SHA-256 is "
  done
  cp kept "$file"
done
for file in b/manifest.yaml b/manifest.yaml.sig; do
  cp "$file" kept
  size=$(stat -c %s kept)
  # The last byte of the signature ends its last line: ssh-keygen looks no further.
  for byte in 0 $(seq 7 61 $((size - 2))); do
    cp kept "$file" && flip "$file" "$byte"
    exits 2 gpuadm bundle verify b --signers signers
    complains "b: the signature"
  done
  cp kept "$file"
done
exits 0 gpuadm bundle verify b
mkfifo pipe && mv b/manifest.yaml.sig kept && mv pipe b/manifest.yaml.sig
exits 2 timeout 20 "$GPUADM" bundle verify b
complains "b/manifest.yaml.sig: not a regular file"
exits 2 timeout 20 "$GPUADM" bundle inspect b/manifest.yaml.sig
complains "not a regular file"
mv kept b/manifest.yaml.sig
exits 2 gpuadm init -f cluster.yaml --bundle nowhere -y
complains "nowhere: No such file"
size=$(stat -c %s b.tar.zst)
head -c $((size / 2)) b.tar.zst >cut.tar.zst
exits 2 gpuadm bundle verify cut.tar.zst
complains "cut.tar.zst: "
exits 2 gpuadm init -f cluster.yaml --bundle cut.tar.zst -y
exits 2 gpuadm bundle verify cluster.yaml
complains "not a bundle"

# More in it.
echo package >x.deb
exits 0 gpuadm bundle extend b -o more.tar.zst --package x.deb --source "http://127.0.0.1:$port"
exits 1 gpuadm bundle diff b more.tar.zst
says "+ package x.deb"
exits 0 gpuadm bundle verify more.tar.zst

# However an image is called, it is there once, by its full name.
exits 0 create -o named --image k8s.gcr.io/pause:3.2 --image "k8s.gcr.io/pause:3.2@sha256:$(sha256sum <"$pause/manifests/3.2" | cut -d' ' -f1)"
exits 0 gpuadm bundle inspect named
[ "$(grep -c 'k8s.gcr.io/pause' out)" = 2 ] || fail "other images than two: $(cat out)"
says "k8s.gcr.io/pause@sha256:"

# What cannot be had.
exits 2 create -o b
complains "b: already exists"
exits 2 create -o arm.tar.zst --architecture arm64
complains "built for amd64, not for arm64"
exits 2 create -o other.tar.zst --image k8s.gcr.io/none:1
complains "HTTP status 404"
source=/html
exits 1 create -o html.tar.zst
complains "the server sent an HTML page"
export XDG_CACHE_HOME=$place/new
source=/busy
exits 4 create -o busy.tar.zst
complains "tried 6 times"
source=/cut # downloads without a known checksum are not continued
exits 4 create -o cut-off.tar.zst
complains "tried 6 times"
source=/crumbs
exits 4 create -o crumbs.tar.zst
complains "tried 6 times"
source=/endless
exits 2 timeout 60 "$GPUADM" bundle create --for cluster.yaml --kubernetes-version 1.20.2 --source "http://127.0.0.1:$port$source" -o endless.tar.zst
complains "HTTP status 404"
source=/nothing
exits 1 create -o nothing.tar.zst
complains "HTTP status 204 instead of the file"
source=/around
before=$SECONDS
exits 1 create -o around.tar.zst
[ $((SECONDS - before)) -lt 10 ] || fail "the request was repeated for no reason"
# The proxy's login stands in no error.
export http_proxy="http://me:secret of the proxy@[/"
source=
exits 4 timeout 100 "$GPUADM" bundle create --for cluster.yaml --kubernetes-version 1.20.2 --source "http://192.0.2.1" -o proxy.tar.zst
! grep -q "secret of" out err || fail "a secret is shown: $(cat err)"
unset http_proxy
# What is begun is kept where a page of HTML comes in between.
sum=$(sha256sum <layer | cut -d' ' -f1) blobs=$XDG_CACHE_HOME/gpuadm/blobs
head -c 1000 layer >"$blobs/$sum.part"
source=/html-blobs
exits 1 create -o kept.tar.zst
complains "the server sent an HTML page"
[ "$(stat -c %s "$blobs/$sum.part")" = 1000 ] || fail "what was begun is gone"
[ -z "$(find . -name 'cut-off.tar.zst*' -o -name 'html.tar.zst*' -o -name 'busy.tar.zst*')" ] || fail "something half-made is there"
