"""Archives behind InvokeEndpoint of the local endpoint, with binary tensors in the body."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.http_load import HttpTarget, post
from checkout import DIST
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.errors import EnsembleError

NAME = "benchmark"
PREFIX = f"s3://{NAME}/models/"
_ROLE = "arn:aws:iam::000000000000:role/execution-role"


@contextmanager
def running_endpoint(
    folder: Path, archives: Iterable[Path], *arguments: str, flags: str = ""
) -> Iterator[LocalEndpoint]:
    """A multi-model endpoint with these archives, in service.

    Args:
        folder: its working folder.
        archives: each is uploaded before the next one is asked for.
        arguments: of the command ``endpoint``, such as its budgets.
        flags: of tritonserver.
    """
    container = {
        "Image": "sagemaker-tritonserver",
        "Mode": "MultiModel",
        "ModelDataUrl": PREFIX,
        # SageMaker's default is a line in the log for each step of each request; production switches it off.
        "Environment": {
            "SAGEMAKER_TRITON_LOG_VERBOSE": "false",
            **({"SAGEMAKER_TRITON_ADDITIONAL_ARGS": flags} if flags else {}),
        },
    }
    with serving(folder, archives, container, *arguments) as local:
        yield local


@contextmanager
def serving(
    folder: Path, archives: Iterable[Path], container: dict[str, Any], *arguments: str
) -> Iterator[LocalEndpoint]:
    """An endpoint of one instance of ``container``, in service, with these archives below PREFIX."""
    with LocalEndpoint(folder / "root", *arguments) as local:
        s3, sagemaker = local.client("s3"), local.client("sagemaker")
        s3.create_bucket(Bucket=NAME)
        for path in archives:
            s3.upload_file(str(path), NAME, f"models/{path.name}")
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
    return target_of(host, int(port), f"/endpoints/{NAME}/invocations", name, payloads)


def target_of(host: str, port: int, path: str, name: str, payloads: Sequence[Payload]) -> HttpTarget:
    model = {"X-Amzn-SageMaker-Target-Model": f"{name}.tar.gz"}
    requests = [post(host, port, path, {"Content-Type": each.content_type, **model}, each.body) for each in payloads]
    return HttpTarget(host, port, requests)


def archive_of(ensemble: str) -> Path:
    """Its archive in dist/cpu. Raises :class:`EnsembleError` when it has not been built."""
    archive = DIST / "cpu" / f"{ensemble}.tar.gz"
    if not archive.exists():
        raise EnsembleError("the archive does not exist", path=archive, cure="make build-ensembles")
    return archive
