# shellcheck shell=sh
# Waits until the API server is ready, at most five requests. Otherwise prints its last answer to stderr and exits with 1.
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin
tries=0
until said=$(kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s get --raw /readyz 2>&1); do
  tries=$((tries + 1))
  [ $tries -lt 5 ] || { printf '%s\n' "$said" >&2; exit 1; }
  sleep 3
done
