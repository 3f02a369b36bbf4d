#!/usr/bin/env bash
# gpuadm dashboard serves its page on loopback, below a token, over its own connections: no client and no host stops it; and writes the same
# page as a file.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/dashboard.sh
. "$top/tests/lib/dashboard.sh"
needs jq curl python3

dashboard_double "$place/double"
export PATH=$place/double:$PATH
dashboard_hosts
touch out err
dashboard_begin --interval 1

get() { curl -sS --max-time 30 "$@"; }
status() { get -o body -w '%{http_code}' "$@"; }
live() { get "${address}live.json" >live.json && jq -e "$1" live.json >/dev/null; }

# The address: loopback and a token of 128 bits; nothing else is in stdout.
grep -qxE 'http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/' served || fail "another address"
[ "$(wc -l <served)" = 1 ] || fail "more than the address in stdout"
port=$(cut -d: -f3 <served | cut -d/ -f1) origin=${address%/*/}
! ss -Hltn "sport = :$port" 2>/dev/null | grep -v '127\.0\.0\.1:' | grep -q . || fail "it listens on another address"

# The page, its files, and the headers that keep everything else out.
[ "$(status "$address")" = 200 ] || fail "no page"
grep -q '<title>gpuadm dashboard</title>' body || fail "another page"
for file in dashboard.css dashboard.js live.json cluster.json; do [ "$(status "$address$file")" = 200 ] || fail "no $file"; done
get -D headers -o body "$address"
for header in "content-security-policy: default-src 'none'; script-src 'self'" 'cache-control: no-store' 'referrer-policy: no-referrer' 'x-frame-options: deny' \
  'x-content-type-options: nosniff'; do
  grep -qiF "$header" headers || fail "there is no header $header"
done
! grep -qi 'access-control' headers || fail "another origin may read it"
[ "$(get -I "$address" | head -n 1 | cut -d' ' -f2)" = 200 ] || fail "HEAD is refused"

# Without the token, under another name, or with another method, nothing is given.
for other in "$origin/" "$origin/live.json" "$origin/00000000000000000000000000000000/live.json" "$origin/?token=${address:(-33):32}"; do
  [ "$(status "$other")" = 403 ] || fail "$other is answered"
done
for name in attacker.example "attacker.example:$port" "127.0.0.1.attacker.example:$port" ''; do
  [ "$(status -H "Host: $name" "$address")" = 403 ] || fail "it is answered under the name '$name'"
done
[ "$(status -H "Host: localhost:$port" "$address")" = 200 ] || fail "localhost is refused"
[ "$(status "${address}missing")" = 404 ] || fail "a page that does not exist"
for method in POST PUT DELETE OPTIONS; do [ "$(status -X "$method" "$address")" = 405 ] || fail "$method is answered"; done

# Data of the first host.
until_true "there are no GPUs" live '[.gpus[] | select(.host == "gpu1")] | length == 2 and all(.memoryTotalMiB == 143771 and .old == "")'
jq -e '.gpus[0] | .users == [] and (.plots.utilization | test("^[-0-9 ]+$"))' live.json >/dev/null || fail "users or plots are wrong"
[ -z "${sshd_apart:-}" ] || until_true "the quarantine is missing" live \
  '[.gpus[] | select(.quarantine) | [.host, .index, .quarantine.since, .quarantine.reason]] == [["gpu2", 1, "2026-11-27T02:00:00Z", "Xid 79 <b>4711</b>"]]'

# Junk, clients that say nothing, and a flood of connections: others are answered.
python3 - "$port" <<'P' || fail "the flood"
import os, random, socket, sys
random.seed(1)
held = []
for i in range(200):
    client = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    try:
        if i % 3: client.sendall(random.randbytes(random.randrange(1, 20000)))
    except OSError:
        pass
    held.append(client)
P
curl -sS --max-time 30 -o body "${address}live.json" || fail "it does not answer after junk"
kill -0 "$dashboard_pid" || fail "it has ended"

# A port that is taken.
exits 2 gpuadm dashboard -f cluster.yaml --local-port "$port"
complains "cannot listen on 127.0.0.1:$port: Address already in use"
complains "ss -ltnp"

# A host that goes away: since when and why, its values are old, the other host continues; and it comes back.
if [ -n "$root" ]; then
  until_true "the second host does not answer" live '[.gpus[] | select(.host == "gpu2" and .old == "")] | length == 2'
  sshd_end
  until_true "the host still answers" live '.hosts[1] | .host == "gpu2" and .state == "not answering" and .since != "" and .why != ""'
  live '[.gpus[] | select(.host == "gpu2")] | length == 2 and all(.old == "not answering" and .memoryTotalMiB == 143771)' || fail "its old values are not kept"
  before=$(jq -r .time live.json)
  until_true "the other host stands still" live ".time > \"$before\" and ([.gpus[] | select(.host == \"gpu1\" and .old == \"\")] | length == 2)"
  until_true "the problem is not listed" sh -c "curl -sS '${address}cluster.json' | jq -e '.problems | any(.where == \"gpu2\")' >/dev/null"
  sshd_begin
  until_true "the host does not come back" live '.hosts[1].state == "answering"'
fi

# Ctrl-C ends it.
kill -INT "$dashboard_pid"
wait "$dashboard_pid" || fail "exit status $? after Ctrl-C"
dashboard_pid=
[ "$(wc -l <served)" = 1 ] || fail "stdout has more than the address"

# The page as a file: nothing is loaded, the data is in it.
exits 0 gpuadm dashboard -f cluster.yaml --interval 1 --count 2 -o html
says '</html>'
hides ' (src|href)="?(https?:|//|[a-z]+\.(js|css))'
sed -n 's|.*id="frozen-live">\(.*\)</script>|\1|p' out >frozen.json
jq -e '(.plots.points >= 2) and ([.gpus[] | select(.host == "gpu1")] | length == 2)' frozen.json >/dev/null || fail "the data is not in the page"
sed -n 's|.*id="frozen-cluster">\(.*\)</script>|\1|p' out | jq -e '.cluster == "lab" and (.problems | type == "array")' >/dev/null || fail "the cluster is not in the page"

exits 2 gpuadm dashboard --count 2
exits 2 gpuadm dashboard -o json
exits 2 gpuadm dashboard -o html --local-port 4711
exits 2 gpuadm dashboard --local-port 70000
printf '%s\n' 'apiVersion: gpuadm/v1alpha1' 'kind: GpuCluster' 'hosts: [{ name: cp1, address: 127.0.0.1, port: 1, user: me }]' >cluster.yaml
exits 4 gpuadm dashboard -f cluster.yaml -o html --ssh-client libssh2
complains "cp1: "
says '</html>'
