# shellcheck shell=sh disable=SC2154
# Reads, creates, changes and deletes objects of the cluster, through kubectl on a control-plane node. Variables: action (find, get, named,
# create, replace, apply, patch, approve, delete, delete-exact, raw, exec), namespace (a namespace; empty: all, or none), kinds (separated by
# commas), selector, objects (JSON; delete-exact: an API path and a uid per line), object (KIND/NAME; approve: the name of a
# CertificateSigningRequest), patch (JSON), path (of the API), input (of the program), command (of a pod: words in lines),
# seconds (get: waits for available Deployments; delete: the timeout). Exit status 3: this host has no administrator's kubeconfig.

export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source=playbooks/kubeconfig.sh
[ "${kubeconfig_is_here:-}" = yes ] || . "$(dirname "$0")/kubeconfig.sh"
find_kubeconfig
[ -n "$config" ] || { echo 'no /etc/kubernetes/admin.conf' >&2 && exit 3; }

api() { timeout -k 5 60 kubectl --kubeconfig "$config" --request-timeout=20s "$@"; }

objects_get() {
  if [ -n "$namespace" ]; then set -- -n "$namespace"; else set -- --all-namespaces; fi
  [ -z "$selector" ] || set -- "$@" -l "$selector"
  [ "$seconds" = 0 ] || api wait deployments.apps "$@" --for=condition=Available --timeout="${seconds}s" >/dev/null 2>&1
  api get "$kinds" "$@" --ignore-not-found -o json
}

# Of what kubectl prints, the names of objects: it also warns when it succeeds.
objects_name='^[a-z0-9.-]+/[a-z0-9.-]+$'
# All or nothing: if one object is rejected, those before it are deleted again. A lost connection does not stop it halfway.
objects_create() {
  trap '' HUP INT TERM PIPE
  answer=$(printf '%s' "$objects" | api create -n "$namespace" -f - -o name 2>&1) && {
    printf '%s\n' "$answer" | grep -E "$objects_name"
    return 0
  }
  printf '%s\n' "$answer" | grep -Ev "$objects_name" >&2
  printf '%s\n' "$answer" | grep -E "$objects_name" | while read -r name; do
    api -n "$namespace" delete "$name" --ignore-not-found --wait=false >/dev/null || echo "$name was created and could not be deleted" >&2
  done
  return 1
}

# Waits until the objects are gone: --request-timeout would end the wait. "No resources found" is on the standard output, too.
objects_delete() {
  answer=$(timeout -k 5 "$((seconds + 10))" kubectl --kubeconfig "$config" -n "$namespace" delete "$kinds" -l "$selector" --ignore-not-found \
    --timeout="${seconds}s" -o name) || return
  printf '%s\n' "$answer" | grep -E "$objects_name" || :
}

# Those of these objects that exist.
objects_named() { printf '%s' "$objects" | api get -f - --ignore-not-found -o json; }

# Deletes exactly these objects, in their order, and waits until they are gone. The API server compares the uid: an object that has been
# created again under the same name is another one, and stays. A lost connection does not stop it halfway.
objects_delete_exact() {
  trap '' HUP INT TERM PIPE
  end=$(($(date +%s) + seconds)) waiting=
  while read -r path uid; do
    answer=$(printf '{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background","preconditions":{"uid":"%s"}}' "$uid" |
      api delete --raw "$path" -f - 2>&1) || {
      objects_are_gone && continue
      printf '%s: %s\n' "$path" "$answer" >&2
      return 1
    }
    # A Status: the object is gone. Otherwise the answer is the object, which has finalizers or a grace period.
    case $answer in '{"kind":"Status"'*) ;; *) waiting="$waiting$path $uid
" ;; esac
  done <<END
$objects
END
  while read -r path uid; do
    [ -n "$path" ] || continue
    while :; do
      answer=$(api get --raw "$path" 2>&1) || {
        objects_are_gone && break
        answer=
      }
      case $answer in '' | *"\"uid\":\"$uid\""*) ;; *) break ;; esac
      [ "$(date +%s)" -lt "$end" ] || { echo "$path was not deleted within ${seconds}s" >&2 && return 1; }
      sleep 1
    done
  done <<END
$waiting
END
}
# Whether the message of kubectl says that there is no such object, or that another one has its name. A kind that the API server does not
# know has another message.
objects_are_gone() { case $answer in *'" not found' | *'UID in precondition'*) ;; *) return 1 ;; esac; }

# A program in a pod, with input.
objects_exec() {
  set -f
  IFS='
'
  # shellcheck disable=SC2086 # a word a line
  set -- $command
  printf '%s' "$input" | timeout -k 5 "$seconds" kubectl --kubeconfig "$config" -n "$namespace" exec -i "$object" -- "$@"
}

case $action in
  find) ;;
  get) objects_get ;;
  named) objects_named ;;
  create) objects_create ;;
  # An object whose resourceVersion is no longer the current one is a conflict.
  replace) printf '%s' "$objects" | api replace -f - -o name ;;
  # A field that another manager has changed is a conflict, which kubectl names.
  apply) printf '%s' "$objects" | api apply --server-side --field-manager=gpuadm -f - -o name ;;
  delete-exact) objects_delete_exact ;;
  raw) api get --raw "$path" ;;
  exec) objects_exec ;;
  approve) api certificate approve "$object" -o name ;;
  patch) api -n "$namespace" patch "$object" --type merge -p "$patch" -o name ;;
  delete) objects_delete ;;
  *) echo "unknown action: $action" >&2 && exit 2 ;;
esac
