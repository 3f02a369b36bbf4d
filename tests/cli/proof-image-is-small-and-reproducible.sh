#!/usr/bin/env bash
# The image of the program that computes on GPUs: under 5 MB, the same bytes each time, and all of the libraries that it asks for.
. "$(dirname "$0")/common"

image=${GPUADM%/*}/proof/image.tar
[ "$(stat -c %s "$image")" -lt 5000000 ] || fail "$(stat -c %s "$image") bytes"
"$top/proof/make-image" "${GPUADM%/*}/proof/gpuadm-proof" again.tar
cmp "$image" again.tar
tar -xOf again.tar ./manifest.json | jq -e '.[0].RepoTags == ["gpuadm.local/proof:1"]'
tar -xOf again.tar ./layer.tar | gzip -dc >layer.tar
layer=$(sha256sum <layer.tar | cut -d' ' -f1)
tar -xOf again.tar ./config.json | jq -e --arg layer "sha256:$layer" '.rootfs.diff_ids == [$layer]'
mkdir root
tar -C root -xf layer.tar
readelf -d root/gpuadm-proof | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' >needed
while read -r library; do
  [ -n "$(find root -name "$library")" ] || fail "the image has no $library"
done <needed
