"""What the gateway adds to Triton, in medians of requests that are made in turn.

    python -m benchmarks.gateway_hop                                a model that takes hardly any time
    python -m benchmarks.gateway_hop --repository build/cpu/gateway     those of a built gateway

One client with plain sockets that stay open sends the same tensors to Triton over HTTP, with binary tensors, and to the
gateway in each form that it takes, one request after the other, then from the start. The hop is the median of what a
request took longer than the one to Triton in the same turn. Triton answers over gRPC a little later than over HTTP, so
the gateway's client of it is measured likewise, beside gRPC's own. Processor time is the gateway's, or the client's.
"""

import argparse
import base64
import json
import socket
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import grpc
import grpc.aio
import uvloop
from tritonclient.grpc import service_pb2 as kserve

from benchmarks.gateway_direct import binary_headers, infer_path, infer_request, over_http
from benchmarks.gateway_model import gateway_repository
from benchmarks.http_load import post
from triton_ensembles.errors import EnsembleError
from triton_ensembles.gateway.asked import ATTRIBUTES, BINARY
from triton_ensembles.gateway.channel import Channel
from triton_ensembles.gateway.table import Model, read_table
from triton_ensembles.triton.gateway_server import TABLE, GatewayServer

_SERVICE = "inference.GRPCInferenceService"
_IMAGE = Path(__file__).parents[1] / "ensembles" / "resnet" / "ensemble" / "examples" / "flower.jpg"
_TEXT = "The capital of France is [MASK]."
_DIRECT = "Triton, HTTP"
_FORMS = ("gateway, JSON", "gateway, raw bytes", "gateway, KServe v2")
_WARM_UP = 20  # requests


@dataclass
class Measured:
    """One kind of request: seconds of each, and processor time of all."""

    seconds: list[float] = field(default_factory=list)
    processor: float = 0.0


class Connection:
    """A connection of HTTP/1.1 and one request, which is sent over it again and again."""

    def __init__(self, port: int, path: str, headers: Mapping[str, object], body: bytes, status: int = 200) -> None:
        self._status = str(status).encode()
        self._request = post("127.0.0.1", port, path, {name: str(value) for name, value in headers.items()}, body)
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def send(self) -> None:
        """Raises RuntimeError for an answer with another status."""
        self._socket.sendall(self._request)
        status, length = self._answers.readline(), 0
        while (line := self._answers.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        body = self._answers.read(length)
        if status.split()[1] != self._status:
            raise RuntimeError(f"{status!r} {body[:300]!r}")

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


def payloads(model: Model) -> dict[str, dict[str, bytes]]:
    """By what they are, in words: the bytes of each field."""
    forms = {source.field: source.form for source in model.inputs.values()}
    if "json" in forms.values() or len(forms) > 1:
        return {}
    ((field, form),) = forms.items()
    if form == "text":
        return {"a sentence": {field: _TEXT.encode()}}
    image = _IMAGE.read_bytes()
    found = {f"a JPEG of {len(image) / 1000:.0f} kB": {field: image}}
    return {"64 bytes": {field: bytes(64)}, "100 kB": {field: bytes(100_000)}} if model.name == "crc32" else found


def measure(server: GatewayServer, model: Model, what: str, fields: Mapping[str, bytes], rounds: int) -> None:
    """Print the medians for one payload."""
    request = infer_request(server, model, fields)
    forms = _forms(server, model, fields, request)
    try:
        measured = in_turn(forms, server.pid, rounds)
    finally:
        for each in forms.values():
            each.close()
    direct = measured[_DIRECT].seconds
    clients = uvloop.run(_clients(server, request.SerializeToString(), rounds))
    print(f"{model}, {what}: {rounds} requests of each       median          hop    processor time")
    for name, found in (measured | clients).items():
        hop = median(each - other for each, other in zip(found.seconds, direct, strict=True))
        shown = f"{1e3 * hop:8.3f} ms" if name in _FORMS else f"{'':11}"
        print(f"  {name:32} {1e3 * median(found.seconds):8.3f} ms  {shown}   {1e3 * found.processor / rounds:6.3f} ms")


def in_turn(forms: Mapping[str, Connection], pid: int, rounds: int) -> dict[str, Measured]:
    """Seconds of each request, and processor time of the process ``pid``."""
    measured = {name: Measured() for name in forms}
    for number in range(_WARM_UP + rounds):
        for name, connection in forms.items():
            used, began = _processor_seconds(pid), time.perf_counter()
            connection.send()
            seconds = time.perf_counter() - began
            if number >= _WARM_UP:
                measured[name].seconds.append(seconds)
                measured[name].processor += _processor_seconds(pid) - used
    return measured


def _processor_seconds(pid: int) -> float:
    """Of its first thread, which is the gateway's only one."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def _forms(
    server: GatewayServer, model: Model, fields: Mapping[str, bytes], request: kserve.ModelInferRequest
) -> dict[str, Connection]:
    """Triton itself, and the gateway in every form."""
    text = next(iter(model.inputs.values())).form == "text"
    given = {field: value.decode() if text else base64.b64encode(value).decode() for field, value in fields.items()}
    asked = json.dumps({"modelname": model.name, "version": model.version, "payload": given}).encode()
    named = {ATTRIBUTES: f"modelname={model.name};version={model.version}"}
    head, body = over_http(request)
    ports = server.ports
    return {
        _DIRECT: Connection(ports.http, infer_path(model), binary_headers(head), body),
        "gateway, JSON": Connection(ports.sagemaker, "/invocations", {"Content-Type": "application/json"}, asked),
        "gateway, raw bytes": Connection(
            ports.sagemaker,
            "/invocations",
            {"Content-Type": "text/plain" if text else "image/jpeg", **named},
            next(iter(fields.values())),
        ),
        "gateway, KServe v2": Connection(
            ports.sagemaker, "/invocations", {"Content-Type": f"{BINARY};json-header-size={len(head)}", **named}, body
        ),
        "gateway, the server alone": Connection(ports.sagemaker, "/none", {}, b"", 404),
    }


async def _clients(server: GatewayServer, message: bytes, rounds: int) -> dict[str, Measured]:
    """Calls of Triton over gRPC, made in turn."""
    url = f"127.0.0.1:{server.ports.grpc}"
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    async with grpc.aio.insecure_channel(url, options=options) as theirs:
        with closing(Channel(url, _SERVICE)) as ours:
            infer = theirs.unary_unary(f"/{_SERVICE}/ModelInfer")
            calls: dict[str, Callable[[], Awaitable[bytes]]] = {
                "Triton, gRPC, the gateway's": lambda: ours.call("ModelInfer", message),
                "Triton, gRPC, grpc.aio": lambda: infer(message),
            }
            measured = {name: Measured() for name in calls}
            for number in range(_WARM_UP + rounds):
                for name, call in calls.items():
                    began, used = time.perf_counter(), time.process_time()
                    await call()
                    if number >= _WARM_UP:
                        measured[name].seconds.append(time.perf_counter() - began)
                        measured[name].processor += time.process_time() - used
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000, help="requests of each kind (1000)")
    parser.add_argument("--repository", type=Path, help="a built gateway, with models.toml (a small model of its own)")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="gateway-hop-") as folder:
            repository = options.repository or gateway_repository(Path(folder))
            with GatewayServer(repository) as server:
                for model in read_table(repository / TABLE).models:
                    for what, fields in payloads(model).items():
                        measure(server, model, what, fields, options.rounds)
    except EnsembleError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
