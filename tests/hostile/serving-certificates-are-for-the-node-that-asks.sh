#!/usr/bin/env bash
# Serving certificates are approved for nodes only: the user who asks, the certificate's name and the node must be the same, and the request
# contains only names and addresses of that node, however they are encoded. kubectl is a double that has the requests in files; go-template
# is the real one's, in tests/e2e/hardened-cluster-is-made.sh.
. "$(dirname "$0")/common"
for program in openssl python3; do command -v "$program" >/dev/null || skip "$program is not installed"; done

mkdir -p bin
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem 2>/dev/null
request() { # request SUBJECT CONFIG-LINE...: base64 of a request with these names
  local subject=$1
  shift
  { printf '%s\n' '[req]' 'distinguished_name=d' 'req_extensions=e' '[d]' '[e]' 'subjectAltName=@a' '[a]' && printf '%s\n' "$@"; } >request.conf
  openssl req -new -key key.pem -subj "$subject" -config request.conf -out request.pem 2>/dev/null
  base64 -w0 request.pem
}
node=/O=system:nodes/CN=system:node:gpu1
good=$(request "$node" DNS.1=gpu1 IP.1=192.0.2.1 IP.2=fd00::1)
of_other=$(request /O=system:nodes/CN=system:node:gpu2 DNS.1=gpu1 IP.1=192.0.2.1)
declare -A bad
bad[without-group]=$(request /CN=system:node:gpu1 DNS.1=gpu1)
bad[api]=$(request "$node" DNS.1=gpu1 DNS.2=kubernetes.default)
bad[address]=$(request "$node" DNS.1=gpu1 IP.1=192.0.2.9)
bad[mail]=$(request "$node" DNS.1=gpu1 email.1=a@gpu1)
# openssl prints what follows the newline in the first name on another line.
bad[hidden]=$(python3 - "${bad[api]}" <<'END'
import base64, sys
pem = base64.b64decode(sys.argv[1]).decode()
der = base64.b64decode("".join(line for line in pem.splitlines() if "-" not in line))
der = der.replace(b"\x82\x04gpu1\x82\x12kubernetes.default", b"\x82\x05gpu1\n\x82\x11kubernetes.defaul")
body = base64.encodebytes(der).decode()
print(base64.b64encode(("-----BEGIN CERTIFICATE REQUEST-----\n" + body + "-----END CERTIFICATE REQUEST-----\n").encode()).decode())
END
)
base64 -d <<<"${bad[hidden]}" | openssl req -noout -text >hidden.txt 2>/dev/null
grep -qx '.*DNS:gpu1' hidden.txt || fail "the name with a newline is not in the request: $(cat hidden.txt)"

cat >bin/kubectl <<END
#!/bin/sh
case " \$* " in
  *' approve '*) for word in "\$@"; do last=\$word; done && echo "\$last" >>$place/approved ;;
  *certificatesigningrequests*) cat $place/requests ;;
  *'get nodes'*) printf 'gpu1\ngpu2\n10\n' ;;
  *) exit 1 ;;
esac
END
chmod +x bin/kubectl
nodes='"system:nodes","system:authenticated",'
row() { printf '%s %s %s %s\n' "$1" "$2" "$3" "${4:-$nodes}"; }
approves() { # approves NAMES WHAT: of the requests in the file
  : >approved
  step one static-pods.sh hardening.sh <<END
PATH=$place/bin:\$PATH
node_addresses='gpu1 192.0.2.1 fd00:0:0:0:0:0:0:1 FD00:0:0:0:0:0:0:1
gpu2 192.0.2.2
10 192.0.2.10'
serving_try || :
END
  [ "$(paste -sd' ' approved)" = "$1" ] || fail "$2: approved '$(paste -sd' ' approved)'"
}
row csr-1 '"system:node:gpu1"' "$good" >requests
approves csr-1 "the request of a node is not approved"
row csr-1 '"gpu1"' "$good" >requests
approves '' "a user with the name of a node gets its certificate"
row csr-1 '"system:node:gpu1"' "$good" '"system:authenticated",' >requests
approves '' "a user who is not in the group of nodes gets a certificate"
row csr-1 '"system:node:gpu2"' "$good" >requests
approves '' "a node gets the certificate of another one"
row csr-1 '"system:node:gpu1"' "$of_other" >requests
approves '' "a node gets a certificate with the name of another one"
row csr-1 '"system:node:1e1"' "$(request /O=system:nodes/CN=system:node:1e1 DNS.1=1e1 IP.1=192.0.2.10)" >requests
approves '' "a node whose name is the same number gets a certificate"
row csr-1 '"system:node:gpu1\ncsr-2"' "$good" >requests
approves '' "a newline in the name of a user makes another row"
row csr-1 '"system:node:gpu1 x"' "$good" >requests
approves '' "a blank in the name of a user makes another column"
for kind in "${!bad[@]}"; do
  row csr-1 '"system:node:gpu1"' "${bad[$kind]}" >requests
  approves '' "a request of the kind $kind is approved"
done
