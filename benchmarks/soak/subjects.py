"""What is under load: the local endpoint with boto3's clients, or a host with tritonclient's."""

import json
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.http as http
from botocore.exceptions import ClientError
from tritonclient.utils import InferenceServerException

from benchmarks.many_hosts.hosts import FLAG, Host
from benchmarks.soak.models import VALUES, name_of
from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.deploy.rehearsal import Containers, create_endpoint
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.triton.sagemaker_variables import ADDITIONAL_ARGS

_SECONDS = 600.0
_NAME = "benchmark"
Ask = Callable[[int, float], list[float]]
"""Sends a value to the model of a number, and returns its answer. Raises :class:`NotReady`."""


class NotReady(Exception):
    """The model was not loaded in time: the client is to try again."""


@dataclass(frozen=True)
class Subject:
    """A server under load: the process above all of its own, a client for each thread, and its other APIs by name."""

    pid: int
    client: Callable[[], Ask]
    calls: Mapping[str, Callable[[], Any]]


Form = Callable[[Path, Sequence[Path], str], AbstractContextManager[Subject]]
"""Serves these archives from a folder of its own, with this memory budget."""


@contextmanager
def endpoint(folder: Path, archives: Sequence[Path], budget: str) -> Iterator[Subject]:
    """A multi-model endpoint of one instance, in service."""
    # SageMaker's default is a line in the log for each step of each request; production switches it off.
    variables = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false", ADDITIONAL_ARGS: FLAG}
    with LocalEndpoint(folder / "root", "--memory-budget", budget) as local:
        containers = Containers(PIP_SERVER, variables)
        create_endpoint(local, _NAME, ((path.name, path) for path in archives), containers)
        sagemaker = local.client("sagemaker")
        calls: dict[str, Callable[[], Any]] = {
            "DescribeEndpoint": lambda: sagemaker.describe_endpoint(EndpointName=_NAME),
            "ListModels": sagemaker.list_models,
            "ListEndpoints": sagemaker.list_endpoints,
            "status page": lambda: _read(f"{local.url}/"),
            "/metrics": lambda: _read(f"{local.url}/metrics"),
        }
        yield Subject(local.pid, lambda: _boto3(local), calls)


@contextmanager
def host(folder: Path, archives: Sequence[Path], budget: str) -> Iterator[Subject]:
    """``archives`` lie in one folder, which is what it serves."""
    with Host(archives[0].parent, folder / "root", "--memory-budget", budget) as running:
        address = running.address
        calls: dict[str, Callable[[], Any]] = {
            "/v2/repository/index": lambda: _read(f"http://{address}/v2/repository/index", b"{}"),
            "/metrics": lambda: _read(f"http://{address}/metrics"),
        }
        yield Subject(running.pid, lambda: host_client(address), calls)


def _boto3(local: LocalEndpoint) -> Ask:
    # "standard" tries throttling and errors of the server again, but not ModelNotReadyException: that is up to us
    runtime = local.client("sagemaker-runtime", retries={"mode": "standard"}, read_timeout=70)

    def ask(number: int, value: float) -> list[float]:
        tensor = {"name": "IN", "datatype": "FP32", "shape": [VALUES], "data": [value] * VALUES}
        body = json.dumps({"inputs": [tensor]})
        target = f"{name_of(number)}.tar.gz"
        try:
            answer = runtime.invoke_endpoint(
                EndpointName=_NAME, TargetModel=target, ContentType="application/json", Body=body
            )
        except ClientError as error:
            if error.response["Error"]["Code"] == "ModelNotReadyException":
                raise NotReady from error
            raise
        values: list[float] = json.loads(answer["Body"].read())["outputs"][0]["data"]
        return values

    return ask


def host_client(address: str) -> Ask:
    """Connect an unmodified tritonclient to a host."""
    client = http.InferenceServerClient(address, network_timeout=_SECONDS, connection_timeout=_SECONDS)

    def ask(number: int, value: float) -> list[float]:
        tensor = http.InferInput("IN", [VALUES], "FP32")
        tensor.set_data_from_numpy(np.full(VALUES, value, np.float32))
        try:
            return list(map(float, client.infer(name_of(number), [tensor]).as_numpy("OUT")))
        except InferenceServerException as error:
            if error.status() == "503":
                raise NotReady from error
            raise

    return ask


def _read(url: str, data: bytes | None = None) -> bytes:
    with urllib.request.urlopen(url, data) as answer:
        body: bytes = answer.read()
        return body
