# shellcheck shell=bash
# The double of NVIDIA's device plugin: device-plugin/main.go, built with the Go and the vendored packages that Kubernetes is
# built with.

# Prints the path of its image, lab.local/device-plugin:1, built where it is missing. It also has the names of the programs in NVIDIA's image
# that gpuadm's DaemonSets start.
lab_device_plugin() (
  local id out name source=$KUBE_TREE/cmd/lab-device-plugin
  id=$(cat "$LAB_HOME/device-plugin/main.go" "$LAB_HOME/lib/device-plugin.sh" | sha256sum | cut -c1-12)
  out=$LAB_CACHE/kubernetes/device-plugin-$id.tar
  hold_lock "$LAB_CACHE/bundles/lock" 1800 "another build of a bundle"
  if [ ! -e "$out" ]; then
    lab_deps
    kubernetes_source >&2
    rm -rf "$source" "$out.work"
    mkdir -p "$source" "$out.work/root"
    cp "$LAB_HOME/device-plugin/main.go" "$source/"
    kubernetes_go build -trimpath -ldflags '-s -w' -o "$out.work/root/device-plugin" ./cmd/lab-device-plugin >&2
    mkdir -p "$out.work/root/usr/bin"
    for name in mps-control-daemon sh; do ln -s ../../device-plugin "$out.work/root/usr/bin/$name"; done
    bundle_image "$out.work" root lab.local/device-plugin:1 "$out.new" '["/device-plugin"]'
    rm -rf "$source" "$out.work" "$LAB_CACHE"/kubernetes/device-plugin-*.tar
    mv "$out.new" "$out"
  fi
  printf '%s\n' "$out"
)
