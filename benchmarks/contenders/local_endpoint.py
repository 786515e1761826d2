"""Archives behind InvokeEndpoint of the local endpoint, with binary tensors in the body; bert_trt as a contender."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.contenders.contender import OURS_ENDPOINT
from benchmarks.contenders.http_contender import HttpContender
from benchmarks.examples import sentences
from benchmarks.http_load import HttpTarget, post, request_each
from benchmarks.loads import Load
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import DIST

NAME = "benchmark"
PREFIX = f"s3://{NAME}/models/"
_ROLE = "arn:aws:iam::000000000000:role/execution-role"


@contextmanager
def ours_behind_endpoint(folder: Path, loads: Sequence[Load], texts_from: Path) -> Iterator[HttpContender]:
    """The archive of bert_trt in dist/, uploaded to its own endpoint, which works in ``folder``."""
    about = "InvokeEndpoint of the local endpoint (aiohttp, uvloop), binary tensors; client: plain sockets"
    with running_endpoint(folder, [archive_of("bert_trt")]) as local:

        def target(requests: Sequence[Sequence[str]]) -> HttpTarget:
            return endpoint_target(local, "bert_trt", [sentences(texts) for texts in requests])

        request_each(target([["The first request waits until the model is loaded."]]))
        yield HttpContender(OURS_ENDPOINT, about, loads, texts_from, local.pid, target)


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
            "ModelDataUrl": PREFIX,
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
