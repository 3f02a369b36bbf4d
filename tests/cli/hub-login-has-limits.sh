#!/usr/bin/env bash
# The login of the add-on jupyterhub: a user who fails five times from an address within a minute is refused there, also with the right
# password, and nowhere else; two digests are computed at a time, and few wait. JupyterHub is replaced by empty classes. Its pods have a limit
# of memory.
. "$(dirname "$0")/common"
needs python3

mkdir -p jupyterhub tornado config secret
touch jupyterhub/__init__.py tornado/__init__.py
echo 'class Authenticator: pass' >jupyterhub/auth.py
echo 'class Spawner: pass' >jupyterhub/spawner.py
echo 'AsyncHTTPClient = HTTPClientError = HTTPRequest = None' >tornado/httpclient.py
echo '{"gpus": [], "image": [], "memory": []}' >config/settings.json
for name in cookie proxy service; do echo 00 >"secret/$name"; done
"$GPUADM" assets show templates/addons/jupyterhub_config.py | sed "s#/etc/gpuadm#$place#" >config.py
cat >try.py <<'END'
import asyncio, hashlib, json, os, threading
from pathlib import Path
from unittest.mock import MagicMock

os.environ.update({f"{key}_SERVICE_HOST": "192.0.2.1" for key in ("HUB", "PROXY_API")})
scope = {"get_config": MagicMock}
salt = "00" * 16
made = hashlib.scrypt(b"right-password", salt=bytes.fromhex(salt), n=16384, r=8, p=1, dklen=32).hex()
Path("secret/users.json").write_text(json.dumps({"anna": {"salt": salt, "digest": made, "admin": False}}))
exec(compile(Path("config.py").read_text(), "config.py", "exec"), scope)
at_once = most = count = 0
lock = threading.Lock()
real = scope["digest"]

def counted(password, salt):
    global at_once, most, count
    with lock:
        at_once += 1
        count += 1
        most = max(most, at_once)
    try:
        return real(password, salt)
    finally:
        with lock:
            at_once -= 1

scope["digest"] = counted
hub = scope["FileAuthenticator"]()

async def login(name, password, address="198.51.100.1"):
    handler = MagicMock()
    handler.request.remote_ip = address
    return bool(await hub.authenticate(handler, {"username": name, "password": password}))

async def main():
    assert await login("anna", "right-password")
    for _ in range(20):
        assert not await login("anna", "wrong-password")
    print("digests of 21 logins:", count)
    print("right password after failures:", await login("anna", "right-password"))
    print("from another address:", await login("anna", "right-password", "198.51.100.2"))
    await asyncio.gather(*[login(f"user{i}", "x" * 8) for i in range(200)])
    print("digests at once:", most, "of 200 logins:", count - 7 if count < 60 else count)
    print("failures remembered:", len(scope.get("failures", ())) <= 4096)

asyncio.run(main())
END
exits 0 python3 try.py
says "digests of 21 logins: 6"
says "right password after failures: False"
says "from another address: True"
says "digests at once: 2 of 200 logins: 32"
[ "$("$GPUADM" assets show templates/addons/jupyterhub.yaml | grep -c 'limits: { memory: ')" = 2 ] || fail "the hub and its proxy have no limits of memory"
