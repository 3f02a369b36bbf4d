#!/usr/bin/env bash
# What a step fetches for a host: an address with https is led to no other, and a key has no more than a MiB.
. "$(dirname "$0")/common"
# shellcheck source=tests/lib/steps.sh
. "$top/tests/lib/steps.sh"
# shellcheck source=tests/lib/apt-repository.sh
. "$top/tests/lib/apt-repository.sh"
needs curl python3 openssl gpg

fingerprint=$(signing_key keys mirror)
export_key keys "$fingerprint" --armor >key.asc

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout tls.key -out tls.pem 2>/dev/null
plain=$((20000 + $$ % 6000)) tls=$((26000 + $$ % 6000))
cat >server.py <<'END'
import http.server, ssl, sys, threading
plain, tls = int(sys.argv[1]), int(sys.argv[2])
key = open("key.asc", "rb").read()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path in ("/to-plain", "/to-tls"):
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{plain}/key" if self.path == "/to-plain" else f"https://localhost:{tls}/key")
            return self.end_headers()
        self.send_response(200)
        size = 0 if self.path == "/key" else 8 << 20
        if self.path == "/long":  # the other one does not say how long it is
            self.send_header("Content-Length", str(len(key) + size))
        self.end_headers()
        try:
            self.wfile.write(key + b"x" * size)
        except OSError:
            pass
    def log_message(self, *_):
        pass
servers = [http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) for port in (plain, tls)]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("tls.pem", "tls.key")
servers[1].socket = context.wrap_socket(servers[1].socket, server_side=True)
threading.Thread(target=servers[0].serve_forever, daemon=True).start()
servers[1].serve_forever()
END
python3 server.py "$plain" "$tls" 2>server.log &
server=$!
trap 'kill "$server"; rm -rf "$place"' EXIT
for _ in $(seq 100); do
  (: <"/dev/tcp/127.0.0.1/$plain" && : <"/dev/tcp/127.0.0.1/$tls") 2>/dev/null && break
  sleep 0.1
done

exits 0 in_step "fetch http://localhost:$plain/to-tls 10 -k"
says 'BEGIN PGP'
exits 0 in_step "fetch https://localhost:$tls/to-tls 10 -k"
says 'BEGIN PGP'
exits 1 in_step "fetch https://localhost:$tls/to-plain 10 -k"
hides 'BEGIN PGP'

exits 0 in_step "fetch_key http://localhost:$plain/key $fingerprint"
says 'BEGIN PGP'
for path in long longer; do
  exits 3 in_step "fetch_key http://localhost:$plain/$path $fingerprint"
  complains "http://localhost:$plain/$path is larger than 1 MiB"
  hides 'BEGIN PGP'
done
exits 3 in_step "fetch_key http://localhost:1/key $fingerprint"
complains "cannot fetch http://localhost:1/key"
