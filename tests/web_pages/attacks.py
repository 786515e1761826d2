"""What a web page may try at the ports of this machine, sent as browsers send it.

A page chooses method, path, body and a few headers; the browser adds Host, Origin and Sec-Fetch-*, which say what the
page is. What needs other headers, a browser first asks for in a preflight.
"""

import base64
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from triton_ensembles.ground.processes import descendants

EVIL = "http://evil.example"
_CROSS = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "empty"}
_FORM = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
_SIGNED = "X-Amz-Credential=a%2F20260101%2Fus-east-1%2F{}%2Faws4_request&X-Amz-Signature=0"


@dataclass(frozen=True)
class Attack:
    """One request; its Host is that of the port unless the headers name another."""

    name: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """``status`` 0: the connection was closed without an answer of HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def ports_of(pid: int) -> dict[int, str]:
    """The TCP ports on which the process and its descendants listen, with the address in hexadecimal."""
    inodes = set()
    for member in [pid, *descendants(pid)]:
        with suppress(OSError):  # it has ended
            for link in Path(f"/proc/{member}/fd").iterdir():
                with suppress(OSError):  # it has been closed
                    inodes.add(os.fspath(link.readlink()).removeprefix("socket:[").removesuffix("]"))
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table]
    addresses = [row[1].split(":") for row in rows if row[3] == "0A" and row[9] in inodes]
    return {int(port, 16): address for address, port in addresses}


def send(port: int, attack: Attack) -> Answer:
    headers = {name: value.replace("PORT", str(port)) for name, value in attack.headers.items()}
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        try:
            connection.request(attack.method, attack.path, attack.body or None, headers)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        except (OSError, HTTPException):
            return Answer(0, {}, b"")


def _ways(method: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The headers by which a browser marks such a request of a foreign page."""
    if method in ("POST", "GET", "HEAD"):  # without a preflight
        yield "no-cors", _CROSS | {"Origin": EVIL, "Content-Type": "text/plain;charset=UTF-8"}
        yield "sandboxed", _CROSS | {"Origin": "null", "Content-Type": "text/plain"}
        yield (
            "same site",
            {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000", "Content-Type": "text/plain"},
        )
        yield "an old browser", {"Origin": EVIL, "Content-Type": "text/plain"}
    if method == "POST":
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            yield f"form {kind}", _FORM | {"Origin": EVIL, "Content-Type": kind}
    if method == "GET":  # without an Origin
        yield "image", _CROSS | {"Sec-Fetch-Dest": "image"}
        yield "script", _CROSS | {"Sec-Fetch-Dest": "script"}
        yield "frame", _FORM | {"Sec-Fetch-Dest": "iframe"}
    # After DNS rebinding the page is of the server's origin, and may send whatever it likes.
    rebound = {"Host": "evil.example:PORT", "Content-Type": "application/json"}
    yield "rebound", rebound if method in ("GET", "HEAD") else rebound | {"Origin": f"{EVIL}:PORT"}


def _everywhere(method: str, path: str, body: bytes = b"", **headers: str) -> Iterator[Attack]:
    for way, marks in _ways(method):
        if not headers or way == "rebound":  # headers of its own need a preflight elsewhere
            yield Attack(f"{way}: {method} {path}", method, path, {**marks, **headers}, body)
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Private-Network": "true"}
    asked |= {"Access-Control-Request-Headers": ", ".join(["content-type", *headers])}
    yield Attack(f"preflight: {method} {path}", "OPTIONS", path, _CROSS | {"Origin": EVIL, **asked})


def attacks(marker: Path, folder: Path, models: Iterable[str] = ()) -> list[Attack]:
    """All that would run code here, change something, or tell a page something.

    Args:
        marker: the file that code of the attack writes.
        folder: of an archive's model, whose code writes it too.
        models: the names of models that are served.
    """
    code = f"open({str(marker)!r}, 'w').close()\nclass TritonPythonModel:\n    pass\n".encode()
    config = json.dumps({"name": "evil", "backend": "python", "max_batch_size": 0})
    parameters = {"config": config, "file:1/model.py": base64.b64encode(code).decode()}
    found: list[Attack] = []

    def add(method: str, path: str, body: object = None, **headers: str) -> None:
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        found.extend(_everywhere(method, path, sent, **headers))

    # KServe v2's extensions
    add("POST", "/v2/repository/models/evil/load", {"parameters": parameters})
    add("POST", "/v2/repository/index", {})
    for model in models:
        add("POST", f"/v2/repository/models/{model}/unload", {})
        add("POST", f"/v2/models/{model}/trace/setting", {"trace_level": ["TIMESTAMPS"], "trace_file": str(marker)})
    region = {"key": "/triton_ensembles", "offset": 0, "byte_size": 64}
    add("POST", "/v2/systemsharedmemory/region/evil/register", region)
    add("POST", "/v2/systemsharedmemory/unregister", {})
    add("GET", "/v2/systemsharedmemory/status")
    add("POST", "/v2/cudasharedmemory/unregister", {})
    add("POST", "/v2/trace/setting", {"trace_level": ["TIMESTAMPS"], "trace_file": str(marker)})
    add("GET", "/v2/trace/setting")
    add("POST", "/v2/logging", {"log_file": str(marker), "log_verbose_level": 1})
    add("GET", "/v2/logging")
    # SageMaker's routes of a container, and the gateway's
    add("POST", "/models", {"model_name": "evil", "url": str(folder)})
    add("GET", "/models")
    add("POST", "/invocations", {"modelname": "evil", "payload": {}})
    # AWS's services
    for target in ("SageMaker.ListModels", "SageMaker.DeleteEndpoint"):
        kind = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.1"}
        add("POST", "/", {"EndpointName": "evil"}, **kind)
    add("PUT", "/evil-bucket")
    add("PUT", "/evil-bucket/evil.tar.gz", b"archive")
    add("DELETE", "/evil-bucket")
    add("GET", "/?list-type=2")
    add("POST", "/evil-bucket?delete", b"<Delete/>")
    add("GET", f"/?Action=DeleteAlarms&{_SIGNED.format('monitoring')}")
    add("GET", f"/?Action=GetCallerIdentity&{_SIGNED.format('sts')}")
    for service, action in (("monitoring", "DeleteAlarms"), ("sts", "GetCallerIdentity")):  # links are followed
        path = f"/?Action={action}&{_SIGNED.format(service)}"
        found.append(Attack(f"link: GET {path}", "GET", path, _FORM))
    return found


def reads(models: Iterable[str]) -> list[Attack]:
    """What tells a page something, or lets it use a model."""
    infer = {"inputs": [{"name": "X", "datatype": "FP32", "shape": [1, 3], "data": [[1, 2, 3]]}]}
    paths = ["/", "/metrics", "/ping", "/v2", "/v2/health/ready", "/v2/models/stats"]
    found = [attack for path in paths for attack in _everywhere("GET", path)]
    for model in models:
        found += [
            attack for path in ("", "/config", "/ready") for attack in _everywhere("GET", f"/v2/models/{model}{path}")
        ]
        for path in ("infer", "generate"):
            found += _everywhere("POST", f"/v2/models/{model}/{path}", json.dumps(infer).encode())
    return [*found, *_everywhere("POST", "/endpoints/e/invocations", json.dumps(infer).encode())]


def may_be_read(answer: Answer) -> bool:
    """Whether a page of another origin may read it, by the Fetch standard's rules (CORS)."""
    return any(name.startswith("access-control-allow") for name in answer.headers)
