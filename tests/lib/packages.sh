# shellcheck shell=bash disable=SC2154
# Kubernetes from packages, within the lab: an apt repository and a registry at the client's address (tests/lab/README.md). Behind
# tests/e2e/common.
client=10.77.0.1

# serve_packages PORT FOLDER: over HTTP, below http://$client:PORT.
serve_packages() { serves 30 "$1" python3 -m http.server --bind "$client" --directory "$2" "$1"; }

# serve_registry PORT STORAGE: a registry with what that folder holds.
serve_registry() {
  printf 'version: 0.1\nstorage: { filesystem: { rootdirectory: "%s" }, maintenance: { readonly: { enabled: true } } }\nhttp: { addr: "%s:%s" }\n' \
    "$2" "$client" "$1" >"registry-$1.yml"
  serves 30 "$1" docker-registry serve "registry-$1.yml"
}

# from_packages VERSION [PACKAGES-PORT [REGISTRY-PORT]]: what stands in the cluster file for it.
from_packages() {
  local registry="http://$client:${3:-5000}"
  cat <<END
kubernetes: { source: packages, version: "$1" }
mirrors:
  registries: { registry.k8s.io: "$registry", k8s.gcr.io: "$registry", ghcr.io: "$registry" }
  packages: { kubernetes: "http://$client:${2:-8080}/core:/stable:" }
END
}
