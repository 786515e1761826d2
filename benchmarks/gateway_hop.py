"""The time that the gateway adds to a request: medians of requests to it and to Triton itself, made in turn.

    python -m benchmarks.gateway_hop                                    a model that takes hardly any time
    python -m benchmarks.gateway_hop --repository build/cpu/gateway     those of a built gateway

One client sends the same tensors over connections that stay open, in turn: to Triton over HTTP, with binary tensors,
and to the gateway in each form that it takes. Beside the median of the time there are those of the difference from the
time of Triton in the same turn, and of the ratio.
"""

import argparse
import base64
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import numpy as np
import tritonclient.http as http

from triton_ensembles.gateway.invocation import ATTRIBUTES, BINARY
from triton_ensembles.gateway.table import Model, read_table
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.gateway_server import TABLE, GatewayServer

_DIRECT = "Triton, HTTP"
_WARM_UP = 20  # requests
_IMAGE = Path(__file__).parents[1] / "ensembles" / "resnet" / "ensemble" / "examples" / "flower.jpg"
_TEXT = b"The capital of France is [MASK]."
_CHECKSUM = {
    "crc32/config.pbtxt": """backend: "python"
max_batch_size: 4
input [ { name: "FILE" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "CRC32" data_type: TYPE_INT64 dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU } ]
""",
    "crc32/1/model.py": """import zlib
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        files = [pb_utils.get_input_tensor_by_name(request, "FILE").as_numpy() for request in requests]
        sums = [pb_utils.Tensor("CRC32", np.array([[zlib.crc32(file)]], dtype=np.int64)) for file in files]
        return [pb_utils.InferenceResponse([checksum]) for checksum in sums]
""",
    TABLE: """[[models]]
name = "crc32"
version = "1"
model = "crc32"
inputs.FILE = { field = "img", form = "base64" }
result = "CRC32"
""",
}
Send = Callable[[], None]


def write_checksum_model(folder: Path) -> Path:
    """Write a repository, CRC-32 of a file and the gateway's table, into ``folder``, which is returned."""
    for path, text in _CHECKSUM.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def payloads(model: Model) -> dict[str, bytes]:
    """The value of the model's one input, by a description; none for models with other inputs."""
    if model.name == "crc32":
        return {"64 bytes": bytes(64), "100 kB": bytes(100_000)}
    forms = ",".join(source.form for source in model.inputs.values())
    return {"text": {"a sentence": _TEXT}, "base64": {"a JPEG of 143 kB": _IMAGE.read_bytes()}}.get(forms, {})


def requests_of(server: GatewayServer, model: Model, value: bytes) -> Mapping[str, Send]:
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
        _DIRECT: _sender(server.http_url, path, kserve, headers),
        "gateway, JSON": gateway("application/json", fields, {}),
        "gateway, raw bytes": gateway("text/plain" if text else "image/jpeg", value),
        "gateway, KServe v2": gateway(f"{BINARY};json-header-size={head}", kserve),
    }


def _sender(url: str, path: str, body: bytes, headers: Mapping[str, str]) -> Send:
    connection = HTTPConnection(url)

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
    parser.add_argument("--repository", type=Path, help="a built gateway, with models.toml (the small model)")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="gateway-hop-") as folder:
            repository = options.repository or write_checksum_model(Path(folder))
            with GatewayServer(repository) as server:
                for model in read_table(repository / TABLE).models:
                    for description, value in payloads(model).items():
                        print(f"{model}, {description}: {options.rounds} requests of each")
                        seconds = seconds_in_turn(requests_of(server, model, value), options.rounds)
                        for way, times in seconds.items():
                            hop = median(map(float.__sub__, times, seconds[_DIRECT]))
                            ratio = median(map(float.__truediv__, times, seconds[_DIRECT]))
                            print(f"  {way:20} {1e3 * median(times):8.3f} ms {1e3 * hop:+8.3f} ms {ratio:6.2f} times")
    except EnsembleError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
