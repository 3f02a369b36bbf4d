# The proof of the add-on jupyterhub, in the pod of the hub: a user logs in through the public address of the proxy, starts a notebook, and runs a
# program in it. Argument: the choice for GPUs. The last line is JSON: {"proof": {…}}. Everything has a deadline.
import asyncio
import json
import os
import sys
import uuid
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

USER = "gpuadm-proof"
SECRET = Path("/etc/gpuadm/secret")
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PUBLIC = f"http://{os.environ['PROXY_PUBLIC_SERVICE_HOST']}:{os.environ['PROXY_PUBLIC_SERVICE_PORT']}"
PROGRAM = "import subprocess\nprint('gpuadm', 6 * 7)\n"
proof = {"login": False, "pod": "", "node": "", "gpus": "", "failure": ""}
cookies = {}


async def ask(method, path, body=None, headers=None):
    kind = {"Content-Type": "application/json"} if "/api/" in path else {}
    cookie = {"Cookie": "; ".join(f"{key}={value}" for key, value in cookies.items())} if cookies else {}
    request = HTTPRequest(
        PUBLIC + path,
        method=method,
        body=body,
        headers={**kind, **cookie, **(headers or {})},
        follow_redirects=False,
        request_timeout=30,
        allow_nonstandard_methods=True,
    )
    answer = await AsyncHTTPClient().fetch(request, raise_error=False)
    for line in answer.headers.get_list("Set-Cookie"):
        for key, value in SimpleCookie(line).items():
            cookies[key] = value.value
    return answer


def expect(answer, codes, what):
    if answer.code not in codes:
        said = (answer.body or b"")[:300].decode(errors="replace")
        raise RuntimeError(f"{what}: HTTP {answer.code}: {' '.join(said.split())}")
    return answer


async def log_in():
    """A token of a user who logs in by the form; without passwords, of a user whom the service of gpuadm adds."""
    if (SECRET / "users.json").exists():
        expect(await ask("GET", "/hub/login"), (200,), "the page of the login")
        fields = {"username": USER, "password": (SECRET / "proof").read_text().strip(), "_xsrf": cookies.get("_xsrf", "")}
        wrong = await ask("POST", "/hub/login", urlencode({**fields, "password": "not the password"}))
        if wrong.code == 302:
            raise RuntimeError("a wrong password is accepted")
        expect(await ask("POST", "/hub/login", urlencode(fields)), (302,), "the login")
        # As a browser does: its page sets the cookie that the API compares.
        expect(await ask("GET", "/hub/home"), (200,), "the page of the user")
        proof["login"] = True
        headers = {"X-XSRFToken": cookies.get("_xsrf", "")}
    else:
        headers = {"Authorization": f"token {(SECRET / 'service').read_text().strip()}"}
        await ask("POST", f"/hub/api/users/{USER}", "{}", headers)
    made = await ask("POST", f"/hub/api/users/{USER}/tokens", json.dumps({"expires_in": 3600}), headers)
    return json.loads(expect(made, (200, 201), "a token of the user").body)["token"]


async def start(headers, gpus):
    path = f"/hub/api/users/{USER}/server"
    expect(await ask("POST", path, json.dumps({"gpus": gpus} if gpus else {}), headers), (201, 202), "the start of the notebook")
    while True:
        user = json.loads(expect(await ask("GET", f"/hub/api/users/{USER}", None, headers), (200,), "the state of the user").body)
        server = user.get("servers", {}).get("")
        if server and server.get("ready"):
            return
        if not server:
            raise RuntimeError(f"the notebook did not start: {await reason()}")
        await asyncio.sleep(1)


async def pod():
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    request = HTTPRequest(
        f"https://{host}:{port}/api/v1/namespaces/{(ACCOUNT / 'namespace').read_text()}/pods/notebook-{USER}",
        headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"},
        ca_certs=str(ACCOUNT / "ca.crt"),
        request_timeout=20,
    )
    return json.loads((await AsyncHTTPClient().fetch(request)).body)


async def reason():
    try:
        status = (await pod())["status"]
        return json.dumps(status.get("containerStatuses", status.get("conditions", [])))[:400]
    except HTTPClientError as error:
        return f"the pod: {error}"


async def run_program(headers):
    """The output of a program in a kernel of the notebook."""
    made = expect(await ask("POST", f"/user/{USER}/api/kernels", "{}", headers), (201,), "the start of a kernel")
    kernel = json.loads(made.body)["id"]
    url = f"{PUBLIC.replace('http', 'ws', 1)}/user/{USER}/api/kernels/{kernel}/channels"
    socket = await websocket_connect(HTTPRequest(url, headers=headers))
    socket.write_message(
        json.dumps(
            {
                "header": {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": USER, "session": uuid.uuid4().hex, "version": "5.3"},
                "parent_header": {},
                "metadata": {},
                "content": {"code": PROGRAM, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False},
                "channel": "shell",
            }
        )
    )
    while True:
        text = await socket.read_message()
        if text is None:
            raise RuntimeError("the kernel closed the connection")
        message = json.loads(text)
        if message["msg_type"] == "error":
            raise RuntimeError(f"the program failed: {message['content'].get('evalue', '')[:200]}")
        if message["msg_type"] == "stream":
            return message["content"]["text"]


async def stop(headers):
    await ask("DELETE", f"/hub/api/users/{USER}/server", None, headers)
    while True:
        try:
            await pod()
        except HTTPClientError as error:
            if error.code == 404:
                return
            raise
        await asyncio.sleep(0.5)


async def main(gpus, seconds):
    headers = {}
    try:
        headers = {"Authorization": f"token {await asyncio.wait_for(log_in(), 60)}"}
        cookies.clear()
        await asyncio.wait_for(start(headers, gpus), seconds)
        made = await pod()
        limits = made["spec"]["containers"][0]["resources"].get("limits", {})
        proof["pod"], proof["node"] = made["metadata"]["name"], made["spec"].get("nodeName", "")
        proof["gpus"] = " ".join(f"{key}={value}" for key, value in limits.items() if key.startswith("nvidia.com/"))
        output = await asyncio.wait_for(run_program(headers), 120)
        if "gpuadm 42" not in output:
            raise RuntimeError(f"the program printed {output[:100]!r}")
    except asyncio.TimeoutError:
        proof["failure"] = f"not in time: {await reason()}"
    except Exception as error:  # noqa: BLE001 reported
        proof["failure"] = f"{type(error).__name__}: {error}"[:600]
    if headers:
        try:
            await asyncio.wait_for(stop(headers), 240)
        except Exception as error:  # noqa: BLE001 reported
            proof["failure"] = proof["failure"] or f"the notebook did not stop: {error}"
    print(json.dumps({"proof": proof}))


asyncio.run(main(sys.argv[1], float(sys.argv[2])))
