# shellcheck shell=bash disable=SC2154
# Kubernetes from packages, within the lab: an apt repository and a registry at the client's address (tests/lab/README.md). Behind
# tests/e2e/common.
client=10.77.0.1
declare -A server_of # PORT: the server that listens there

# replaces PORT COMMAND...: that server, in place of the one that listened there.
replaces() {
  local port=$1
  shift
  stops "$port"
  serves 30 "$port" "$@"
  server_of[$port]=${pids[-1]}
}
stops() { # stops PORT
  local deadline=$((SECONDS + 20))
  [ -n "${server_of[$1]:-}" ] || return 0
  kill "${server_of[$1]}" 2>/dev/null || :
  unset "server_of[$1]"
  while lab net bash -c "</dev/tcp/$client/$1" 2>/dev/null; do
    [ "$SECONDS" -lt "$deadline" ] || fail "the server at port $1 does not end"
    sleep 0.2
  done
}

# serve_packages FOLDER: over HTTP, at port 8080.
serve_packages() { replaces 8080 python3 -m http.server --bind "$client" --directory "$1" 8080; }

# serve_registry STORAGE: a registry with what that folder holds, at port 5000.
serve_registry() {
  printf 'version: 0.1\nstorage: { filesystem: { rootdirectory: "%s" }, maintenance: { readonly: { enabled: true } } }\nhttp: { addr: "%s:5000" }\n' \
    "$1" "$client" >registry.yml
  replaces 5000 docker-registry serve registry.yml
}

# from_packages VERSION: lines of the cluster file for Kubernetes from these two; $repository is what `lab repository` prints.
from_packages() {
  local registry="http://$client:5000"
  cat <<END
kubernetes: { source: packages, version: "$1" }
mirrors:
  registries: { registry.k8s.io: "$registry", k8s.gcr.io: "$registry", ghcr.io: "$registry" }
  packages: { kubernetes: "http://$client:8080/core:/stable:" }
  packageKeys: { kubernetes: $(cat "$repository/fingerprint") }
END
}
