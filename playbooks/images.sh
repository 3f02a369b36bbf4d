# shellcheck shell=sh disable=SC2154
# Functions for uploads of kind image, loaded after prelude.sh: whether the image of a bundle file is in the runtime, and the import
# from stdin. A file next to the journal records the checksum of the file from which an image was imported.

image_note() {
  flat "$bundle_name"
  printf '%s/images/%s' "$gpuadm_home" "$gpuadm_flat"
}
image_is_from_file() { [ "$(first_line "$(image_note)")" = "$bundle_sha256" ]; }
image_noted() {
  mkdir -p "$gpuadm_home/images"
  printf '%s\n' "$bundle_sha256" >"$(image_note)"
}

# read_images: the names of containerd's images, if it is running.
preview_reads="$preview_reads read_images"
read_images() {
  gpuadm_images=
  [ ! -S /run/containerd/containerd.sock ] || ! have ctr || gpuadm_images=$(ctr --timeout 10s -n k8s.io images ls -q 2>/dev/null) || gpuadm_images=
}
image_was_read() {
  case $gpuadm_newline${gpuadm_images:-}$gpuadm_newline in *"$gpuadm_newline$1$gpuadm_newline"*) ;; *) return 1 ;; esac
}
image_in_containerd() {
  image_was_read "$bundle_name" || ctr --timeout 10s -n k8s.io images ls -q "name==$bundle_name" | grep -qxF "$bundle_name" || return 1
  image_is_from_file
}
image_into_containerd() {
  bundle_file_is_whole
  journal_thing image "$bundle_name"
  ctr -n k8s.io images import - >/dev/null
  image_noted
}

image_in_docker() {
  case $bundle_name in *@*) die "Docker cannot import an image by its digest: create the bundle with a tag for $bundle_name" ;; esac
  timeout 10 docker image inspect "$bundle_name" >/dev/null 2>&1 || return 1
  image_is_from_file
}
image_into_docker() {
  bundle_file_is_whole
  journal_thing docker-image "$bundle_name"
  docker load --quiet >/dev/null
  image_noted
}
