#!/usr/bin/env bash
# gpuadm version, as text and as JSON with what a bug report needs.
. "$(dirname "$0")/common"

exits 0 gpuadm version
grep -qE '^gpuadm [0-9]+\.[0-9]+\.[0-9]+$' out
exits 0 gpuadm version -o json
jq -e '(.gpuadm | test("^[0-9.]+$")) and (.architecture | . == "amd64" or . == "arm64") and (.compiler | test("[0-9]"))
  and (.libraries.libssh2 | test("^1[.]")) and (.libraries.openssl | test("^OpenSSL ")) and (.libraries | has("libcurl"))
  and has("commit") and .catalog.kubernetes and .catalog.date and .overrides == []' out >/dev/null || fail "$(cat out)"
[ "$(jq -r .catalog.kubernetes out)" = "$(sed -nE 's/^  kubernetes: "(.*)"/\1/p' "$top/playbooks/catalog.yaml")" ]
# What is overridden is said, and is what the catalog shows.
mkdir -p ours/playbooks && sed 's/^date: .*/date: "2001-01-01"/' "$top/playbooks/catalog.yaml" >ours/playbooks/catalog.yaml
exits 0 gpuadm version -o json --assets ours
jq -e '.catalog.date == "2001-01-01" and .overrides == ["playbooks/catalog.yaml"]' out >/dev/null || fail "$(cat out)"
