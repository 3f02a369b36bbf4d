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
# How old the data are, by the day that the test gives.
exits 0 env GPUADM_TODAY=2001-01-02 "$GPUADM" version -v --assets ours
says "data of 2001-01-01 (1 day old)"
lacks() { ! grep -qF -- "$1" out || fail "$(cat out)"; }
lacks "newer release"
exits 0 env GPUADM_TODAY=2001-05-01 "$GPUADM" version -v --assets ours
lacks "newer release"
exits 0 env GPUADM_TODAY=2001-05-02 "$GPUADM" version -v --assets ours
says "gpuadm's data are from 2001-01-01; a newer release may know more"
# The doctor says it in addition to its report.
exits 0 env GPUADM_TODAY=2001-05-02 "$GPUADM" doctor --assets ours --from "$top/data/recordings/machine" --fail-on never
complains "gpuadm's data are from 2001-01-01; a newer release may know more"
exits 0 env GPUADM_TODAY=2001-05-01 "$GPUADM" doctor --assets ours --from "$top/data/recordings/machine" --fail-on never
! grep -qF "newer release" err || fail "$(cat err)"
