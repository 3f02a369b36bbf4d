# shellcheck shell=bash
# Stand-ins for programs that Debian does not have, NAME/main.go: built with the Go and the vendored packages that Kubernetes is built with.

# Prints the path of the program, built where it is missing.
stand_in() ( # stand_in NAME
  local name=$1 id out source=$KUBE_TREE/cmd/lab-$1
  set -e # also within $(…)
  id=$(sha256sum "$LAB_HOME/$name/main.go" | cut -c1-12)
  out=$LAB_CACHE/kubernetes/$name-$id
  hold_lock "$LAB_CACHE/bundles/lock" 1800 "another build of a bundle"
  if [ ! -e "$out" ]; then
    lab_deps
    kubernetes_source >&2
    rm -rf "$source"
    mkdir -p "$source"
    cp "$LAB_HOME/$name/main.go" "$source/"
    rm -f "$LAB_CACHE/kubernetes/$name"-*
    kubernetes_go build -trimpath -ldflags '-s -w' -o "$out.new" "./cmd/lab-$name" >&2
    rm -rf "$source"
    mv "$out.new" "$out"
  fi
  printf '%s\n' "$out"
)
