"""A local endpoint with archives in service, and two ways to them: InvokeEndpoint, and the tritonserver's own port."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tritonclient.http as http

from benchmarks.http_load import HttpTarget, post
from triton_ensembles.archive.write import write_archive
from triton_ensembles.deploy.payload import Payload, binary
from triton_ensembles.endpoint.hosting.disk import model_hash
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import DIST
from triton_ensembles.processes import command_line, descendants

NAME = "benchmark"
_PREFIX = f"s3://{NAME}/models/"
_ROLE = "arn:aws:iam::000000000000:role/execution-role"
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


@contextmanager
def running_endpoint(folder: Path, archives: Sequence[Path]) -> Iterator[LocalEndpoint]:
    """An endpoint with these archives, in service. ``folder`` is its working folder."""
    with LocalEndpoint(folder / "root") as local:
        s3, sagemaker = local.client("s3"), local.client("sagemaker")
        s3.create_bucket(Bucket=NAME)
        for path in archives:
            s3.upload_file(str(path), NAME, f"models/{path.name}")
        container = {
            "Image": "sagemaker-tritonserver",
            "Mode": "MultiModel",
            "ModelDataUrl": _PREFIX,
            # SageMaker's default is a line in the log for each step of each request; production switches it off.
            "Environment": {"SAGEMAKER_TRITON_LOG_VERBOSE": "false"},
        }
        sagemaker.create_model(ModelName=NAME, ExecutionRoleArn=_ROLE, PrimaryContainer=container)
        variant = {"VariantName": "AllTraffic", "ModelName": NAME, "InstanceType": "ml.c5.xlarge"}
        sagemaker.create_endpoint_config(
            EndpointConfigName=NAME, ProductionVariants=[{**variant, "InitialInstanceCount": 1}]
        )
        sagemaker.create_endpoint(EndpointName=NAME, EndpointConfigName=NAME)
        sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=NAME)
        yield local


def endpoint_target(local: LocalEndpoint, name: str, payloads: Sequence[Payload]) -> HttpTarget:
    """InvokeEndpoint for the archive ``name``.tar.gz."""
    host, port = local.url.removeprefix("http://").split(":")
    return _target(host, int(port), f"/endpoints/{NAME}/invocations", name, payloads)


def server_target(local: LocalEndpoint, name: str, payloads: Sequence[Payload]) -> HttpTarget:
    """The same model, loaded already, on the SageMaker port of the tritonserver behind the endpoint."""
    path = f"/models/{model_hash(_PREFIX + f'{name}.tar.gz')}/invoke"
    return _target("127.0.0.1", _sagemaker_port(local), path, name, payloads)


def archive_of(ensemble: str) -> Path:
    """Its archive in dist/cpu. Raises :class:`EnsembleError` when it has not been built."""
    archive = DIST / "cpu" / f"{ensemble}.tar.gz"
    if not archive.exists():
        raise EnsembleError("the archive does not exist", path=archive, cure="make build-ensembles")
    return archive


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


def _target(host: str, port: int, path: str, name: str, payloads: Sequence[Payload]) -> HttpTarget:
    model = {"X-Amzn-SageMaker-Target-Model": f"{name}.tar.gz"}
    requests = [post(host, port, path, {"Content-Type": each.content_type, **model}, each.body) for each in payloads]
    return HttpTarget(host, port, requests)


def _sagemaker_port(local: LocalEndpoint) -> int:
    """The port that the endpoint has given to its tritonserver."""
    for pid in descendants(local.pid):
        if found := re.findall(r"--sagemaker-port=(\d+)", command_line(pid)):
            return int(found[-1])
    raise RuntimeError("the endpoint has no running tritonserver")
