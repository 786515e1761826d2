"""The time that the gateway adds to a request: medians of requests to it and to Triton itself, made in turn.

    python -m benchmarks.gateway_hop        the models of build/cpu/gateway, which `make gateway` has built

One client sends the same tensors over connections that stay open, in turn: to another Triton over HTTP, with binary
tensors, and to the gateway in each form that it takes. Beside the median of the time there are those of the difference
from the time of Triton in the same turn, and of the ratio.
"""

import argparse
import base64
import json
import sys
import time
from collections.abc import Callable, Mapping
from statistics import median

import numpy as np
import tritonclient.http as http

from checkout import BUILD, ENSEMBLES
from triton_ensembles.archive.manifest import GATEWAY_TABLE
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.host.gateway.invocation import ATTRIBUTES, BINARY
from triton_ensembles.host.gateway.models_toml import Model, read_table
from triton_ensembles.server.gateway_server import GatewayServer
from triton_ensembles.server.server_command import Reach
from triton_ensembles.server.sockets import connection_to
from triton_ensembles.server.triton_server import TritonServer

_DIRECT = "Triton, HTTP"
_WARM_UP = 20  # requests
_REPOSITORY = BUILD / "cpu" / "gateway"
_IMAGE = ENSEMBLES / "resnet" / "ensemble" / "examples" / "flower.jpg"
_TEXT = b"The capital of France is [MASK]."
Send = Callable[[], None]


def _payload(model: Model) -> bytes:
    """The value of the model's one input; empty for models with other inputs."""
    return {"text": _TEXT, "base64": _IMAGE.read_bytes()}.get(
        ",".join(source.form for source in model.inputs.values()), b""
    )


def requests_of(server: GatewayServer, triton: TritonServer, model: Model, value: bytes) -> Mapping[str, Send]:
    """The same request, by the way that it takes: to Triton, and to the gateway in each form."""
    ((tensor, source),) = model.inputs.items()
    text = source.form == "text"
    array = np.array([[value]], np.object_) if text else np.frombuffer(value, np.uint8)[np.newaxis]
    infer_input = http.InferInput(tensor, list(array.shape), "BYTES" if text else "UINT8")
    infer_input.set_data_from_numpy(array)
    outputs = [http.InferRequestedOutput(name) for name in model.outputs]
    kserve, head = http.InferenceServerClient.generate_request_body([infer_input], outputs=outputs)
    payload = {source.field: value.decode() if text else base64.b64encode(value).decode()}
    fields = json.dumps({"modelname": model.name, "version": model.version, "payload": payload}).encode()
    named = {ATTRIBUTES: f"modelname={model.name};version={model.version}"}
    version, headers = model.model_version, {"Inference-Header-Content-Length": str(head)}
    path = f"/v2/models/{model.served}{f'/versions/{version}' if version else ''}/infer"

    def gateway(media_type: str, body: bytes, attributes: Mapping[str, str] = named) -> Send:
        return _sender(server.sagemaker_url, "/invocations", body, {"Content-Type": media_type, **attributes})

    return {
        _DIRECT: _sender(triton.http_url, path, kserve, headers),
        "gateway, JSON": gateway("application/json", fields, {}),
        "gateway, raw bytes": gateway("text/plain" if text else "image/jpeg", value),
        "gateway, KServe v2": gateway(f"{BINARY};json-header-size={head}", kserve),
    }


def _sender(url: str, path: str, body: bytes, headers: Mapping[str, str]) -> Send:
    connection = connection_to(url)

    def send() -> None:
        connection.request("POST", path, body, dict(headers))
        response = connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise RuntimeError(f"{response.status} {content[:300]!r}")

    return send


def seconds_in_turn(requests: Mapping[str, Send], rounds: int) -> dict[str, list[float]]:
    """Seconds of each request, by way; those of one round stand at the same index."""
    seconds: dict[str, list[float]] = {way: [] for way in requests}
    for _ in range(_WARM_UP + rounds):
        for way, send in requests.items():
            began = time.perf_counter()
            send()
            seconds[way].append(time.perf_counter() - began)
    return {way: times[_WARM_UP:] for way, times in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000, help="requests of each kind (1000)")
    options = parser.parse_args()
    try:
        with GatewayServer(_REPOSITORY) as server, TritonServer([_REPOSITORY], reach=Reach.SOCKETS) as triton:
            for model in read_table(_REPOSITORY / GATEWAY_TABLE).models:
                if not (value := _payload(model)):
                    continue
                print(f"{model}, {len(value)} bytes: {options.rounds} requests of each")
                seconds = seconds_in_turn(requests_of(server, triton, model, value), options.rounds)
                for way, times in seconds.items():
                    hop = median(map(float.__sub__, times, seconds[_DIRECT]))
                    ratio = median(map(float.__truediv__, times, seconds[_DIRECT]))
                    print(f"  {way:20} {1e3 * median(times):8.3f} ms {1e3 * hop:+8.3f} ms {ratio:6.2f} times")
    except EnsembleError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
