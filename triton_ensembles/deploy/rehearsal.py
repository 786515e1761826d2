"""An endpoint on the local platform, over archives of this machine: what ``endpoint ARCHIVE`` creates.

The requests are those that create one on AWS: a bucket, the archives in it, a model, a configuration and an endpoint.
"""

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.deploy.resource_names import VARIANT
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.model_config import ModelConfig, datatype_of
from triton_ensembles.triton.pip_server import server_python
from triton_ensembles.triton.releases import releases, version

ENDPOINT = "triton-ensembles"
"""The name of the endpoint: the one that the commands on endpoints take by default."""
_ROLE = "arn:aws:iam::123456789012:role/local"
_POLL_SECONDS = 0.02
_VALUES = {"BOOL": "False", "BYTES": '"text"', "FP16": "0.0", "FP32": "0.0", "FP64": "0.0", "BF16": "0.0"}


def image_for(python: str) -> str:
    """The image of a container whose steps run ``python``, such as "3.10"; "" and the server's own: that of the wheel.
    Raises :class:`EnsembleError`: no release of Triton has this Python."""
    if python in ("", server_python()):
        return PIP_SERVER
    matching = [release for release in releases().values() if release.python == python]
    if not matching:
        known = sorted({release.python for release in releases().values() if release.python}, key=version)
        cure = f"pack an environment for Python {server_python()}, or for that of an image ({', '.join(known)})"
        raise EnsembleError(f"a step needs Python {python}, and no image of Triton has it", cure=cure)
    newest = max(matching, key=lambda release: version(release.release))
    return f"sagemaker-tritonserver:{newest.release}-py3-cpu"


class Clients(Protocol):
    """Makes boto3's clients of a platform; see :class:`triton_ensembles.endpoint.running.RunningEndpoint`."""

    region: str

    def client(self, service: str) -> Any: ...


@dataclass(frozen=True)
class Containers:
    """The containers of an endpoint: their image, their variables, and whether it is a single-model endpoint, of the
    only archive, instead of a multi-model one."""

    image: str
    variables: Mapping[str, str] = field(default_factory=dict)
    single: bool = False

    def variables_alone(self, archives: Sequence[Path]) -> dict[str, str]:
        """Return the variables with those with which a single-model endpoint serves the one archive.
        Raises :class:`EnsembleError`: there is none or there are several, or ``check`` finds errors in it."""
        from triton_ensembles.checking.single_model import named_in, single_model
        from triton_ensembles.deploy.archives import read_archive, refuse_faulty

        if len(archives) != 1:
            message = f"a single-model endpoint serves one archive, and these are {len(archives)}"
            raise EnsembleError(message, cure="name one")
        archive = read_archive(archives[0])
        release = "" if self.image == PIP_SERVER else self.image
        destination = Destination(archive.target, image=release, single=single_model(self.variables))
        refuse_faulty([archive], destination)
        return named_in(self.variables, archive.repository, destination)


def create_endpoint(
    clients: Clients,
    name: str,
    archives: Iterable[tuple[str, Path]],
    containers: Containers,
    instance: str = "ml.c5.xlarge",
    count: int = 1,
) -> None:
    """Upload archives to the local platform, create the endpoint over them, with a model and a configuration of the
    same name, and wait until it is in service.

    Args:
        archives: with their TargetModels; each is uploaded before the next one is taken.

    Raises:
        EnsembleError: the endpoint does not get into service, for the platform's reason, or it is a single-model
            endpoint that cannot serve the archive.
    """
    bucket = f"{name.lower()}-models"
    url, environment = f"s3://{bucket}/", dict(containers.variables)
    if containers.single:
        archives = list(archives)
        environment = containers.variables_alone([path for _, path in archives])
        url += archives[0][0]
    _fill_bucket(clients.client("s3"), bucket, clients.region, archives)
    mode = "SingleModel" if containers.single else "MultiModel"
    container = {"Image": containers.image, "Mode": mode, "ModelDataUrl": url, "Environment": environment}
    variant = {"VariantName": VARIANT, "ModelName": name, "InstanceType": instance, "InitialInstanceCount": count}
    sagemaker = clients.client("sagemaker")
    sagemaker.create_model(ModelName=name, ExecutionRoleArn=_ROLE, PrimaryContainer=container)
    sagemaker.create_endpoint_config(EndpointConfigName=name, ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
    while (description := sagemaker.describe_endpoint(EndpointName=name))["EndpointStatus"] == "Creating":
        time.sleep(_POLL_SECONDS)
    if description["EndpointStatus"] != "InService":
        reason = description.get("FailureReason", "")
        raise EnsembleError(f"the endpoint {name} is {description['EndpointStatus']}: {reason}")


def _fill_bucket(s3: Any, bucket: str, region: str, archives: Iterable[tuple[str, Path]]) -> None:
    """Create the bucket, and upload the archives by their keys."""
    from triton_ensembles.deploy.bucket import create_bucket

    create_bucket(s3, bucket, region)
    for key, archive in archives:
        s3.upload_file(str(archive), bucket, key)


def invocation(target_model: str, config: ModelConfig) -> str:
    """A line of Python that asks ``target_model``, whose model has this config, with zeros. Sizes that are variable are
    1, and optional inputs are left out. ``target_model`` is "" on a single-model endpoint."""
    inputs = [_input(tensor, batched=config.max_batch_size > 0) for tensor in config.input if not tensor.optional]
    body = f'json.dumps({{"inputs": [{", ".join(inputs)}]}})' if inputs else "…"  # what the config leaves out
    target = f"TargetModel={json.dumps(target_model)}, " if target_model else ""
    return (
        f"runtime.invoke_endpoint(EndpointName={json.dumps(ENDPOINT)}, {target}"
        f'ContentType="application/json", Body={body})["Body"].read().decode()'
    )


def _input(tensor: Any, *, batched: bool) -> str:
    kind = datatype_of(tensor.data_type)
    dims = [max(1, size) for size in tensor.dims]
    shape = [1, *dims] if batched else dims
    data = f"[{_VALUES.get(kind, '0')}] * {math.prod(shape)}"
    return f'{{"name": {json.dumps(tensor.name)}, "datatype": "{kind}", "shape": {shape}, "data": {data}}}'
