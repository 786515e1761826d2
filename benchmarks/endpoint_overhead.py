"""What the local endpoint adds to tritonserver: the same requests to both, alternately, in one run.

    python -m benchmarks.endpoint_overhead [--seconds 3] [--rounds 5]

It starts its own endpoint, deploys the archives of dist/cpu, and sends each model's request to InvokeEndpoint and to
the port of the tritonserver behind it (POST /models/<hash>/invoke). The client is the same for both: plain sockets that
stay open. Rounds alternate, so that what else the machine does affects both alike. Printed are, for one connection, the
median latencies and their difference; for 32 connections, the throughputs and their ratio. Differences and ratios are
medians over the rounds, with the lowest and the highest.

``echo`` is a Python model that returns its input: nearly all of its time is overhead. The ensembles show what the
overhead means for models that compute. Signing, which boto3 does before it sends anything, is in neither.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import tritonclient.http as http

from benchmarks.cells import spread
from benchmarks.contenders.local_endpoint import PREFIX, archive_of, endpoint_target, running_endpoint, target_of
from benchmarks.examples import photograph, sentences
from benchmarks.http_load import HttpTarget, request_each, run_load_until_answered
from triton_ensembles.archive.write import write_archive
from triton_ensembles.deploy.payload import Payload, binary
from triton_ensembles.endpoint.hosting.disk import model_hash
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.errors import EnsembleError
from triton_ensembles.processes import command_line, descendants
from triton_ensembles.progress import Progress

CONNECTIONS = 32
WARM_UP = 1.0  # seconds before each measurement that do not count
Measured = tuple[float, float]  # median latency in ms, requests per second
_CONFIG = """name: "echo"
backend: "python"
max_batch_size: 0
input [ { name: "IN" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { count: 1 kind: KIND_CPU } ]
"""
_MODEL = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        tensors = [pb_utils.get_input_tensor_by_name(request, "IN").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", tensor)]) for tensor in tensors]
"""


def requests() -> list[tuple[str, str, Payload]]:
    """What is sent, in words; the ensemble; the request."""
    sentence = "A cat sleeps on the sofa."
    return [
        ("bert_trt, 1 sentence", "bert_trt", sentences([sentence])),
        ("bert_trt, 8 sentences", "bert_trt", sentences([sentence] * 8)),
        ("dali_inception, 1 JPEG", "dali_inception", photograph("dali_inception")),
        ("resnet_pytorch, 1 image", "resnet_pytorch", photograph("resnet_pytorch")),
    ]


def compare(ensembles: list[tuple[str, str, Payload]], rounds: int, seconds: float, progress: Progress) -> None:
    """Report two lines on ``echo`` and on each of ``ensembles``."""
    with tempfile.TemporaryDirectory(prefix="endpoint-overhead-") as folder:
        archives = [echo_archive(Path(folder)), *map(archive_of, dict.fromkeys(name for _, name, _ in ensembles))]
        with running_endpoint(Path(folder), archives) as local:
            for about, name, payload in [("echo", "echo", echo_payload()), *ensembles]:
                endpoint = endpoint_target(local, name, [payload])
                request_each(endpoint)  # loads the model
                server = server_target(local, name, payload)
                pairs = {count: _pairs(server, endpoint, count, rounds, seconds) for count in (1, CONNECTIONS)}
                progress(_described(about, pairs))


def _pairs(
    server: HttpTarget, endpoint: HttpTarget, connections: int, rounds: int, seconds: float
) -> list[tuple[Measured, Measured]]:
    """(server, endpoint) of each round; every second round measures the endpoint first."""

    def measured(target: HttpTarget) -> Measured:
        answers = run_load_until_answered(target, connections, seconds, WARM_UP)
        return 1000 * median(answers.latencies), len(answers.latencies) / answers.seconds

    found = []
    for number in range(rounds):
        first, second = (server, endpoint) if number % 2 == 0 else (endpoint, server)
        pair = measured(first), measured(second)
        found.append(pair if first is server else (pair[1], pair[0]))
    return found


def _described(about: str, pairs: dict[int, list[tuple[Measured, Measured]]]) -> str:
    one, many = pairs[1], pairs[CONNECTIONS]
    overhead = spread([behind[0] - direct[0] for direct, behind in one], 3)
    ratio = spread([behind[1] / direct[1] for direct, behind in many], 2)
    p50 = [median(pair[side][0] for pair in one) for side in (0, 1)]
    throughput = [median(pair[side][1] for pair in many) for side in (0, 1)]
    return (
        f"{about:23} 1 connection:   p50 {p50[0]:.3f} ms direct, {p50[1]:.3f} ms endpoint; overhead {overhead} ms\n"
        f"{'':23} {CONNECTIONS} connections: {throughput[0]:.0f}/s direct, {throughput[1]:.0f}/s endpoint; "
        f"ratio {ratio}"
    )


def echo_archive(folder: Path) -> Path:
    """echo.tar.gz in ``folder``: a Python model that returns its input."""
    tree = folder / "tree"
    (tree / "echo" / "1").mkdir(parents=True)
    (tree / "echo" / "config.pbtxt").write_text(_CONFIG)
    (tree / "echo" / "1" / "model.py").write_text(_MODEL)
    (tree / "manifest.json").write_text(json.dumps({"ensemble": "echo", "weights": "pretrained"}))
    path = folder / "echo.tar.gz"
    write_archive(tree, path)
    return path


def echo_payload() -> Payload:
    tensor = http.InferInput("IN", [4], "FP32")
    tensor.set_data_from_numpy(np.arange(4, dtype=np.float32))
    return binary([tensor], [http.InferRequestedOutput("OUT")])


def server_target(local: LocalEndpoint, name: str, payload: Payload) -> HttpTarget:
    """The same model, loaded already, on the SageMaker port of the tritonserver behind the endpoint."""
    path = f"/models/{model_hash(PREFIX, f'{name}.tar.gz')}/invoke"
    return target_of("127.0.0.1", _sagemaker_port(local), path, name, [payload])


def _sagemaker_port(local: LocalEndpoint) -> int:
    """The port that the endpoint has given to its tritonserver."""
    for pid in descendants(local.pid):
        if found := re.findall(r"--sagemaker-port=(\d+)", command_line(pid)):
            return int(found[-1])
    raise RuntimeError("the endpoint has no running tritonserver")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement, after a second of warm-up (3)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured (5)")
    arguments = parser.parse_args()
    try:
        compare(requests(), arguments.rounds, arguments.seconds, lambda line: print(line, flush=True))
    except EnsembleError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
