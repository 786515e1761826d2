"""A multi-model endpoint on the local platform, over archives of this machine: what ``endpoint ARCHIVE`` creates.

The requests are those that create one on AWS: a bucket, the archives in it, a model, a configuration and an endpoint.
"""

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.home import server_python
from triton_ensembles.triton.model_config import DataType, ModelConfig
from triton_ensembles.triton.releases import releases, version

ENDPOINT = "triton-ensembles"
"""The name of the endpoint: the one that the commands on endpoints take by default."""
_BUCKET = "triton-ensembles"
_ROLE = "arn:aws:iam::123456789012:role/local"
_INSTANCE = "ml.c5.xlarge"
_ADDITIONAL = "SAGEMAKER_TRITON_ADDITIONAL_ARGS"
_POLL_SECONDS = 0.1
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


def create_endpoint(url: str, region: str, archives: Mapping[str, Path], image: str, *, completes: bool) -> None:
    """Upload ``archives`` (by TargetModel) to the platform at ``url``, and create the endpoint over them.

    Args:
        completes: whether Triton completes configs.

    Raises:
        EnsembleError: the endpoint does not get into service, for the platform's reason.
    """
    # boto3 takes half a second, which --help need not
    from triton_ensembles.deploy.desired_endpoint import DesiredEndpoint
    from triton_ensembles.endpoint.running import RunningEndpoint

    running = RunningEndpoint(url, region)
    s3, sagemaker = running.client("s3"), running.client("sagemaker")
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket=_BUCKET, **where)
    for target_model, archive in archives.items():
        s3.upload_file(str(archive), _BUCKET, target_model)
    variables = {} if completes else {_ADDITIONAL: "--disable-auto-complete-config"}
    desired = DesiredEndpoint(ENDPOINT, _ROLE, image, _INSTANCE, 1, f"s3://{_BUCKET}/", environment=variables)
    sagemaker.create_model(**desired.model)
    sagemaker.create_endpoint_config(**desired.config)
    sagemaker.create_endpoint(EndpointName=ENDPOINT, EndpointConfigName=desired.config_name)
    while (description := sagemaker.describe_endpoint(EndpointName=ENDPOINT))["EndpointStatus"] == "Creating":
        time.sleep(_POLL_SECONDS)
    if description["EndpointStatus"] != "InService":
        raise EnsembleError(f"the endpoint did not get into service: {description.get('FailureReason', '')}")


def invocation(target_model: str, config: ModelConfig) -> str:
    """A line of Python that asks ``target_model``, whose model has this config, with zeros. Sizes that are variable are
    1, and optional inputs are left out."""
    inputs = [_input(tensor, batched=config.max_batch_size > 0) for tensor in config.input if not tensor.optional]
    body = f'json.dumps({{"inputs": [{", ".join(inputs)}]}})' if inputs else "…"  # what the config leaves out
    return (
        f"runtime.invoke_endpoint(EndpointName={json.dumps(ENDPOINT)}, TargetModel={json.dumps(target_model)}, "
        f'ContentType="application/json", Body={body})["Body"].read().decode()'
    )


def _input(tensor: Any, *, batched: bool) -> str:
    datatype = DataType.Name(tensor.data_type).removeprefix("TYPE_").replace("STRING", "BYTES")
    dims = [max(1, size) for size in tensor.dims]
    shape = [1, *dims] if batched else dims
    data = f"[{_VALUES.get(datatype, '0')}] * {math.prod(shape)}"
    return f'{{"name": {json.dumps(tensor.name)}, "datatype": "{datatype}", "shape": {shape}, "data": {data}}}'
