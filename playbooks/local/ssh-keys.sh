# shellcheck shell=sh
# Prints two new pairs of SSH keys, as four files in base64, one a line: client, client.pub, host, host.pub.
umask 077
command -v ssh-keygen >/dev/null || { echo 'ssh-keygen: not found' >&2 && exit 1; }
keys=$(mktemp -d) || exit 1
trap 'rm -rf "$keys"' EXIT
for key in client host; do
  ssh-keygen -q -t ed25519 -N '' -C gpuadm -f "$keys/$key" || exit 1
  base64 <"$keys/$key" | tr -d '\n' && echo
  base64 <"$keys/$key.pub" | tr -d '\n' && echo
done
