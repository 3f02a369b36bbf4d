#!/usr/bin/env bash
# Files with those whose signatures count are used wherever one is there: unreadable, a link to nowhere, of who called sudo, of the
# machine. None at all is said loudly.
. "$(dirname "$0")/common"
needs ssh-keygen unshare

mkdir -p b/blobs
echo program >program
sum=$(sha256sum <program | cut -d' ' -f1)
cp program "b/blobs/$sum"
printf 'apiVersion: gpuadm/v1alpha1\nkind: Bundle\nname: b\nkubernetes: "1.20.2"\narchitecture: amd64\nabsent: []\nfiles:\n  - { kind: binary, target: /usr/bin/kubeadm, mode: "0755", sha256: %s, size: %s }\n' \
  "$sum" "$(stat -c %s program)" >b/manifest.yaml
cp -r b signed
ssh-keygen -q -t ed25519 -N '' -C one -f one
ssh-keygen -q -Y sign -f one -n gpuadm-bundle signed/manifest.yaml 2>/dev/null
echo "one@example.com $(cut -d' ' -f1,2 one.pub)" >signers
usual=.config/gpuadm/allowed_signers

exits 0 gpuadm bundle verify b
complains "b: SIGNATURE NOT VERIFIED: no trusted signers are configured"
says "not signed"
exits 0 gpuadm bundle verify signed
complains "NOT VERIFIED"

mkdir -p "$(dirname "$usual")" && cp signers "$usual"
exits 2 gpuadm bundle verify b
complains "b: not signed, but $place/$usual lists trusted signers"
exits 0 gpuadm bundle verify signed
says "signed by one@example.com"
[ ! -s err ] || fail "something is complained of: $(cat err)"

chmod g+w "$usual"
exits 2 gpuadm bundle verify signed
complains "other users can write to it"
chmod g-w "$usual"
ln -sfn /nonexistent/signers "$usual"
exits 2 gpuadm bundle verify signed
complains "$place/$usual: "
rm "$usual" && mkdir "$usual"
exits 2 gpuadm bundle verify signed
complains "$place/$usual: not a regular file"
rm -r .config
: >empty
exits 2 gpuadm bundle verify signed --signers empty
complains "the signature is not from a signer in empty"

[ "$(id -u)" = 0 ] || exit 0
# Another HOME than the caller's, as sudo sets it; and the machine's own file. Both in a namespace of their own.
mkdir -p upper work caller/.config/gpuadm
elsewhere() { # elsewhere BUNDLE SHELL: with an /etc of its own, in which SHELL ran
  unshare -m bash -s "$@" <<'END'
    mount -t overlay overlay -o lowerdir=/etc,upperdir=upper,workdir=work /etc || exit 77
    echo "caller:x:6001:6001::$PWD/caller:/bin/sh" >>/etc/passwd
    eval "$2"
    exec "$GPUADM" bundle verify "$1"
END
}
export GPUADM
cp signers caller/.config/gpuadm/allowed_signers
export SUDO_USER=caller
exits 2 elsewhere b :
complains "caller/.config/gpuadm/allowed_signers lists trusted signers"
rm -r caller upper work && mkdir upper work
unset SUDO_USER
exits 2 elsewhere b 'mkdir /etc/gpuadm && cp signers /etc/gpuadm/allowed_signers'
complains "/etc/gpuadm/allowed_signers lists trusted signers"
exits 0 elsewhere signed :
says "signed by one@example.com"
