"""An endpoint with two warm models, and both ways to ask them: InvokeEndpoint, and the tritonserver's own port."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tritonclient.http as http

from triton_ensembles.archive import write_archive
from triton_ensembles.deploy.payload import Payload, binary, sentences
from triton_ensembles.endpoint.hosting.disk import model_hash
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import DIST
from triton_ensembles.processes import descendants

NAME = "overhead"
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


@dataclass(frozen=True)
class Door:
    """Where a request goes, and the whole of it as bytes."""

    host: str
    port: int
    request: bytes
    body_bytes: int


@contextmanager
def running_endpoint(folder: Path) -> Iterator[LocalEndpoint]:
    """An endpoint with the archives echo.tar.gz and bert_trt.tar.gz, both in service."""
    archive = DIST / "cpu" / "bert_trt.tar.gz"
    if not archive.exists():
        raise EnsembleError("there is no such archive", path=archive, cure="make build-ensembles")
    with LocalEndpoint(folder / "root") as local:
        s3, sagemaker = local.client("s3"), local.client("sagemaker")
        s3.create_bucket(Bucket=NAME)
        for path in (_echo(folder), archive):
            s3.upload_file(str(path), NAME, f"models/{path.name}")
        container = {"Image": "sagemaker-tritonserver", "Mode": "MultiModel", "ModelDataUrl": _PREFIX}
        # SageMaker's default is a line in the log for each step of each request; production switches it off.
        container["Environment"] = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false"}  # type: ignore[assignment]
        sagemaker.create_model(ModelName=NAME, ExecutionRoleArn=_ROLE, PrimaryContainer=container)
        variant = {"VariantName": "AllTraffic", "ModelName": NAME, "InstanceType": "ml.c5.xlarge"}
        sagemaker.create_endpoint_config(
            EndpointConfigName=NAME, ProductionVariants=[{**variant, "InitialInstanceCount": 1}]
        )
        sagemaker.create_endpoint(EndpointName=NAME, EndpointConfigName=NAME)
        sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=NAME)
        yield local


def doors(local: LocalEndpoint) -> Iterator[tuple[str, Door, Door]]:
    """(name, tritonserver's own port, the endpoint) of each model, warmed up, both answering the same."""
    runtime = local.client("sagemaker-runtime", read_timeout=120)
    for name, payload in (("echo", _four_floats()), ("bert_trt", sentences(["A cat sleeps on the sofa."]))):
        target = f"{name}.tar.gz"
        runtime.invoke_endpoint(
            EndpointName=NAME, TargetModel=target, ContentType=payload.content_type, Body=payload.body
        )["Body"].read()
        path = f"/models/{model_hash(_PREFIX + target)}/invoke"
        direct = _door("127.0.0.1", _sagemaker_port(local), path, target, payload)
        host, port = local.url.removeprefix("http://").split(":")
        yield name, direct, _door(host, int(port), f"/endpoints/{NAME}/invocations", target, payload)


def _door(host: str, port: int, path: str, target: str, payload: Payload) -> Door:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: {payload.content_type}\r\n"
        f"X-Amzn-SageMaker-Target-Model: {target}\r\nContent-Length: {len(payload.body)}\r\n\r\n"
    )
    return Door(host, port, head.encode() + payload.body, len(payload.body))


def _sagemaker_port(local: LocalEndpoint) -> int:
    """The port that the endpoint has given to its tritonserver."""
    for pid in descendants(local.pid):
        flags = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        if found := [flag for flag in flags if flag.startswith("--sagemaker-port=")]:
            return int(re.sub(r"\D", "", found[-1]))
    raise RuntimeError("no tritonserver runs")


def _four_floats() -> Payload:
    tensor = http.InferInput("IN", [4], "FP32")
    tensor.set_data_from_numpy(np.arange(4, dtype=np.float32))
    return binary([tensor], [http.InferRequestedOutput("OUT")])


def _echo(folder: Path) -> Path:
    tree = folder / "tree"
    (tree / "echo" / "1").mkdir(parents=True)
    (tree / "echo" / "config.pbtxt").write_text(_CONFIG)
    (tree / "echo" / "1" / "model.py").write_text(_MODEL)
    (tree / "manifest.json").write_text(json.dumps({"ensemble": "echo", "weights": "pretrained"}))
    path = folder / "echo.tar.gz"
    write_archive(tree, path)
    return path
