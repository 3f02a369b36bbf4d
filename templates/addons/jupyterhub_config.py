# Configuration of JupyterHub for the add-on jupyterhub of gpuadm. It starts the notebooks of users as pods, with nothing else than JupyterHub
# itself and the API of Kubernetes. /etc/gpuadm/config/settings.json: images, sizes and GPUs that users choose from, as gpuadm computed
# them, and the pod without what is chosen. /etc/gpuadm/secret: keys, and the users or the settings of OpenID Connect.
import asyncio
import copy
import hashlib
import hmac
import html
import json
import os
import re
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jupyterhub.auth import Authenticator
from jupyterhub.spawner import Spawner
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest

SETTINGS = json.loads(Path("/etc/gpuadm/config/settings.json").read_text())
SECRET = Path("/etc/gpuadm/secret")
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PORT = 8888
# Reasons of a waiting container that do not pass.
LOST = ("InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CrashLoopBackOff")


def secret(name):
    return (SECRET / name).read_text().strip()


async def api(method, path, body=None):
    """One request to the API server. HTTPClientError for a status other than 2xx."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    request = HTTPRequest(
        f"https://{host}:{port}/api/v1/namespaces/{SETTINGS['namespace']}/{path}",
        method=method,
        body=None if body is None else json.dumps(body),
        headers={
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
            "Content-Type": "application/json",
        },
        ca_certs=str(ACCOUNT / "ca.crt"),
        connect_timeout=10,
        request_timeout=20,
        allow_nonstandard_methods=True,
    )
    answer = await AsyncHTTPClient().fetch(request)
    return json.loads(answer.body)


def label_of(name):
    """The name of a user as part of names and labels, and as a folder: unique, and at most 40 characters."""
    if re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", name) and not re.search(r"-[0-9a-f]{12}$", name):
        return name
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:20].strip("-")
    return f"{plain or 'user'}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def named(rows, name, what):
    for row in rows:
        if row["name"] == name:
            return row
    raise ValueError(f"{what}: {name!r} cannot be chosen")


class PodSpawner(Spawner):
    """A pod for each notebook. Its name is all that is stored."""

    message = ""

    @property
    def pod_name(self):
        return f"notebook-{label_of(self.user.name)}"

    def options_from_form(self, form):
        return {key: form.get(key, [""])[0] for key in ("gpus", "image", "memory")}

    def chosen(self):
        """The rows of the settings that the user chose; the first of each list without a choice."""
        options = self.user_options or {}
        picked = {}
        for key in ("gpus", "image", "memory"):
            rows = SETTINGS[key]
            picked[key] = named(rows, options[key], key) if options.get(key) else rows[0]
        return picked

    def pod(self):
        picked = self.chosen()
        gpus, memory = picked["gpus"], picked["memory"]["name"]
        user = label_of(self.user.name)
        pod = copy.deepcopy(SETTINGS["pod"])
        pod.update(apiVersion="v1", kind="Pod")
        pod["metadata"] = {
            "name": self.pod_name,
            "namespace": SETTINGS["namespace"],
            "labels": {**SETTINGS["labels"], "gpuadm.io/name": user},
            "annotations": {"gpuadm.io/user": self.user.name},
        }
        spec = pod["spec"]
        spec.update(gpus["pod"])
        container = spec["containers"][0]
        container["image"] = picked["image"]["cuda" if gpus["cuda"] else "plain"]
        container["args"] = [*container["args"], *self.get_args()]
        container["env"] = [{"name": key, "value": str(value)} for key, value in sorted(self.get_env().items())]
        resources = copy.deepcopy(gpus["resources"])
        resources["requests"] = {**resources.get("requests", {}), "memory": memory}
        resources["limits"] = {**resources.get("limits", {}), "memory": memory}
        container["resources"] = resources
        for mount in container["volumeMounts"]:
            if mount["name"] == "files" and SETTINGS["claim"]:
                mount["subPath"] = f"users/{user}"
        claim = SETTINGS["claim"]
        files = {"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDir": {}}
        spec["volumes"].append({"name": "files", **files})
        return pod

    async def read(self):
        try:
            return await api("GET", f"pods/{self.pod_name}")
        except HTTPClientError as error:
            if error.code == 404:
                return None
            raise

    async def remove(self):
        try:
            await api("DELETE", f"pods/{self.pod_name}")
        except HTTPClientError as error:
            if error.code != 404:
                raise
        for _ in range(120):
            if await self.read() is None:
                return
            await asyncio.sleep(0.5)
        raise TimeoutError(f"the pod {self.pod_name} did not end within 60 s")

    async def start(self):
        self.message = "starting the pod"
        pod = self.pod()
        await self.remove()
        try:
            await api("POST", "pods", pod)
        except HTTPClientError as error:
            body = json.loads(error.response.body) if error.response and error.response.body else {}
            raise RuntimeError(f"the pod is rejected: {body.get('message', error)}") from error
        while True:
            pod = await self.read()
            if pod is None:
                raise RuntimeError("the pod was deleted")
            self.message = self.state_of(pod)
            status = pod.get("status", {})
            running = [one for one in status.get("containerStatuses", []) if "running" in one.get("state", {})]
            if running and status.get("podIP"):
                address = status["podIP"]
                return f"http://[{address}]:{PORT}" if ":" in address else f"http://{address}:{PORT}"
            await asyncio.sleep(1)

    def state_of(self, pod):
        """What it waits for. RuntimeError if it cannot start."""
        status = pod.get("status", {})
        for one in status.get("containerStatuses", []):
            state = one.get("state", {})
            waiting = state.get("waiting", {})
            if waiting.get("reason") in LOST or "terminated" in state:
                why = waiting.get("message") or state.get("terminated", {}).get("message") or "it ended"
                raise RuntimeError(f"the notebook cannot start: {why[-500:]}")
            if waiting.get("message"):
                return f"{waiting['reason']}: {waiting['message'][:300]}"
        for one in status.get("conditions", []):
            if one["type"] == "PodScheduled" and one["status"] == "False":
                return f"no node can run it now: {one.get('message', '')[:300]}"
        return "waiting for the image and the volumes"

    async def progress(self):
        shown = None
        while True:
            if self.message != shown:
                shown = self.message
                yield {"progress": 20, "message": shown}
            await asyncio.sleep(1)

    async def stop(self, now=False):
        await self.remove()

    async def poll(self):
        pod = await self.read()
        if pod is None:
            return 0
        return 1 if pod.get("status", {}).get("phase") in ("Succeeded", "Failed") else None


def form(rows, key, title):
    options = "".join(
        f'<option value="{html.escape(row["name"])}">{html.escape(row["label"])}</option>' for row in rows
    )
    return (
        f'<div class="mb-3"><label for="{key}" class="form-label">{title}</label>'
        f'<select id="{key}" name="{key}" class="form-control form-select">{options}</select></div>'
    )


def digest(password, salt):
    """As gpuadm computes it: scrypt with N = 16384, r = 8, p = 1."""
    return hashlib.scrypt(password.encode(), salt=bytes.fromhex(salt), n=16384, r=8, p=1, dklen=32).hex()


# Of failed logins, for a user from an address. A digest needs 16 MiB and a core: two at a time, and few that wait.
MOST_FAILURES, WINDOW, MOST_NAMES, MOST_WAITING, LONGEST = 5, 60, 4096, 32, 1024
digests = ThreadPoolExecutor(max_workers=2)
failures = OrderedDict()
waiting = 0


def is_limited(key):
    """Whether this user has failed too often from this address within the last minute."""
    recent = [when for when in failures.get(key, ()) if time.monotonic() - when < WINDOW]
    if not recent:
        failures.pop(key, None)
        return False
    failures[key] = recent
    return len(recent) >= MOST_FAILURES


def add_failure(key):
    failures[key] = [*failures.pop(key, ()), time.monotonic()][-MOST_FAILURES:]
    while len(failures) > MOST_NAMES:
        failures.popitem(last=False)


class FileAuthenticator(Authenticator):
    """Users and their passwords, from the file of gpuadm addon enable --set users=FILE."""

    async def authenticate(self, handler, data):
        global waiting
        name = data["username"]
        key = (name, handler.request.remote_ip)
        if waiting >= MOST_WAITING or len(name) > LONGEST or len(data["password"]) > LONGEST or is_limited(key):
            return None
        # Counted before the digest: logins at the same time count too. One that succeeds does not count.
        add_failure(key)
        waiting += 1
        try:
            user = await self.check(name, data["password"])
        finally:
            waiting -= 1
        if user:
            failures.pop(key, None)
        return user

    async def check(self, name, password):
        users = json.loads(secret("users.json"))
        # Equally slow for users that do not exist.
        user = users.get(name, {"salt": "00" * 16, "digest": "", "admin": False})
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(digests, digest, password, user["salt"])
        if not hmac.compare_digest(found, user["digest"]):
            return None
        return {"name": name, "admin": user["admin"]}


def use_openid(settings):
    from oauthenticator.generic import GenericOAuthenticator

    c.JupyterHub.authenticator_class = GenericOAuthenticator
    for key, value in settings.items():
        setattr(c.GenericOAuthenticator, key, value)


c = get_config()  # noqa: F821 of JupyterHub
service = {key: os.environ[f"{key}_SERVICE_HOST"] for key in ("HUB", "PROXY_API")}
c.JupyterHub.hub_bind_url = "http://0.0.0.0:8081"
c.JupyterHub.hub_connect_url = f"http://{service['HUB']}:8081"
c.JupyterHub.db_url = "sqlite:////srv/jupyterhub/jupyterhub.sqlite"
c.JupyterHub.cookie_secret = bytes.fromhex(secret("cookie"))
c.JupyterHub.cleanup_servers = False
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = f"http://{service['PROXY_API']}:8001"
c.ConfigurableHTTPProxy.auth_token = secret("proxy")

c.JupyterHub.spawner_class = PodSpawner
c.Spawner.ip = "0.0.0.0"
c.Spawner.port = PORT
c.Spawner.start_timeout = 1800
c.Spawner.http_timeout = 120
c.Spawner.options_form = (
    form(SETTINGS["gpus"], "gpus", "GPUs") + form(SETTINGS["image"], "image", "Image") + form(SETTINGS["memory"], "memory", "Memory")
)

if (SECRET / "oidc.json").exists():
    use_openid(json.loads(secret("oidc.json")))
else:
    c.JupyterHub.authenticator_class = FileAuthenticator
    c.Authenticator.allow_all = True

# gpuadm addon verify jupyterhub, where users log in elsewhere.
c.JupyterHub.services = [{"name": "gpuadm", "api_token": secret("service")}]
c.JupyterHub.load_roles = [
    {"name": "gpuadm", "services": ["gpuadm"], "scopes": ["admin:users", "admin:servers", "tokens", "access:servers"]}
]
