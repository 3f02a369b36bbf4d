# shellcheck shell=sh disable=SC2154
# Reads, creates, changes and deletes objects of the cluster, through kubectl on a control-plane node. Variables: action (find, get, create,
# patch, delete), space (a namespace; empty: all, or none), kinds (separated by commas), selector, objects (JSON), object (KIND/NAME), patch
# (JSON), seconds (get: waits for available Deployments; delete: the timeout). Exit status 3: this host has no administrator's kubeconfig.

export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=playbooks/kubeconfig.sh
[ "${kubeconfig_is_here:-}" = yes ] || . "$(dirname "$0")/kubeconfig.sh"
find_kubeconfig
[ -n "$config" ] || { echo 'no /etc/kubernetes/admin.conf' >&2 && exit 3; }

api() { timeout -k 5 60 kubectl --kubeconfig "$config" --request-timeout=20s "$@"; }

objects_get() {
  if [ -n "$space" ]; then set -- -n "$space"; else set -- --all-namespaces; fi
  [ -z "$selector" ] || set -- "$@" -l "$selector"
  [ "$seconds" = 0 ] || api wait deployments.apps "$@" --for=condition=Available --timeout="${seconds}s" >/dev/null 2>&1
  api get "$kinds" "$@" --ignore-not-found -o json
}

# All or nothing: if one object is rejected, those before it are deleted again. A lost connection does not stop it halfway.
objects_create() {
  trap '' HUP INT TERM PIPE
  answer=$(printf '%s' "$objects" | api create -n "$space" -f - -o name 2>&1) && {
    printf '%s\n' "$answer"
    return 0
  }
  printf '%s\n' "$answer" | grep -Ev '^[a-z0-9.-]+/[a-z0-9.-]+$' >&2
  printf '%s\n' "$answer" | grep -E '^[a-z0-9.-]+/[a-z0-9.-]+$' | while read -r name; do
    api -n "$space" delete "$name" --ignore-not-found --wait=false >/dev/null || echo "$name was created and could not be deleted" >&2
  done
  return 1
}

# Waits until the objects are gone: --request-timeout would end the wait.
objects_delete() {
  timeout -k 5 "$((seconds + 10))" kubectl --kubeconfig "$config" -n "$space" delete "$kinds" -l "$selector" --ignore-not-found \
    --timeout="${seconds}s" -o name
}

case $action in
  find) ;;
  get) objects_get ;;
  create) objects_create ;;
  patch) api -n "$space" patch "$object" --type merge -p "$patch" -o name ;;
  delete) objects_delete ;;
  *) echo "unknown action: $action" >&2 && exit 2 ;;
esac
