#!/usr/bin/env bash
# `gpuadm train run --src` copies no secrets into a ConfigMap: .env, keys, logins of programs and version control are left out by name, keys also by
# what they begin with. One line names what was left out; --include copies it.
. "$(dirname "$0")/common"

# The ConfigMap holds the files in base64.
holds() { grep -qF "$(printf %s "$1" | base64 -w 0)" out || fail "the ConfigMap does not hold: $1"; }
lacks_content() { ! grep -qF "$(printf %s "$1" | base64 -w 0)" out || fail "the ConfigMap holds: $1"; }
run() { gpuadm train run mnist -o yaml --offline --image a --src src "$@" -- a; }

mkdir -p src/{.git,.ssh,.aws,.docker,.kube,conf/gcloud,.cache/huggingface,lib/__pycache__}
put() { mkdir -p "$(dirname "src/$1")" && printf %s "${2:-content of $1}" >"src/$1"; }
secrets=(.env .env.production prod.env .envrc id_rsa id_ed25519.pub conf/ID_RSA server.pem tls.key store.p12 .netrc .npmrc .pypirc .git-credentials
  kubeconfig lab.kubeconfig admin.conf .ssh/config .aws/credentials .docker/config.json .kube/config conf/gcloud/x .cache/huggingface/token
  credentials.json secrets.toml .git/config)
for file in "${secrets[@]}"; do put "$file"; done
put train.py
put lib/keyboard.py
put lib/environment.py
put lib/__pycache__/a.pyc
put notes.txt $'\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc'
put pgp.txt $'-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc'
put putty.txt $'PuTTY-User-Key-File-3: ssh-ed25519\nabc'
put about-keys.txt $'A key begins with -----BEGIN PRIVATE KEY-----\n'

exits 0 run
for file in "${secrets[@]}"; do lacks_content "content of $file"; done
lacks_content $'\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc'
lacks_content $'-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc'
lacks_content $'PuTTY-User-Key-File-3: ssh-ed25519\nabc'
holds "content of train.py"
holds "content of lib/keyboard.py"
holds "content of lib/environment.py"
holds $'A key begins with -----BEGIN PRIVATE KEY-----\n'
[ "$(grep -c 'note: --src leaves out' err)" = 1 ] || fail "not one line"
complains "note: --src leaves out, unless --include names it: .aws, .cache/huggingface/token, .docker, .env, .env.production, "
complains "notes.txt, pgp.txt, putty.txt (private key); .git (version control); __pycache__ (cache)"

# By name, by pattern, by path, and a whole folder.
exits 0 run --include .env --include '*.pem' --include conf/gcloud --include .git --include notes.txt
for file in .env server.pem conf/gcloud/x .git/config; do holds "content of $file"; done
holds $'\n-----BEGIN OPENSSH PRIVATE KEY-----\nabc'
for file in .env.production tls.key conf/ID_RSA .netrc; do lacks_content "content of $file"; done

# Nothing to say, and what cannot be meant.
mkdir clean && echo a >clean/a.py
exits 0 gpuadm train run mnist -o yaml --offline --image a --src clean -- a
! grep -q "leaves out" err || fail "there is a note"
exits 2 run --include train.py
complains "--include train.py: nothing of --src that is left out has this name"
exits 2 gpuadm train run mnist -o yaml --offline --image a --include .env -- a
complains "--include: not without --src"
mkdir only && echo a >only/.env
exits 2 gpuadm train run mnist -o yaml --offline --image a --src only -- a
complains "no file is left: --src leaves out, unless --include names it: .env (may contain secrets)"

# A name cannot add a line.
touch "clean/a
note: nothing was left out.pem"
exits 0 gpuadm train run mnist -o yaml --offline --image a --src clean -- a
[ "$(grep -c '^note:' err)" = 1 ] || fail "a name of a file added a line"
