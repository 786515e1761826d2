"""An endpoint of SageMaker: found, waited for and deleted."""

import time
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.aws import Aws, aws_errors, if_exists, is_busy
from triton_ensembles.deploy.resource_names import MADE_BY, OURS, read_tags
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress

# The states of DescribeEndpoint that end by themselves; the others last until someone acts.
_TRANSIENT = frozenset({"Creating", "Updating", "SystemUpdating", "RollingBack", "Deleting"})
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0  # seconds between two requests
_REPORT_INTERVAL = 60.0  # seconds
_DELETION_SECONDS = 60.0  # at least, however much of the time limit is left

Description = dict[str, Any]


def find_endpoint(aws: Aws, endpoint: str) -> Description | None:
    """DescribeEndpoint's answer, or None when there is no such endpoint."""
    return if_exists(aws.sagemaker.describe_endpoint, EndpointName=endpoint)


def existing_endpoint(aws: Aws, endpoint: str) -> Description:
    """DescribeEndpoint's answer. Raises :class:`EnsembleError` when there is no such endpoint."""
    description = find_endpoint(aws, endpoint)
    if description is None:
        raise EnsembleError(f"the endpoint {endpoint} does not exist", cure="deploy it first")
    return description


def configured_variant(aws: Aws, endpoint: str) -> Description:
    """The first variant of the endpoint's configuration. Raises :class:`EnsembleError`: there is no such endpoint."""
    name = existing_endpoint(aws, endpoint)["EndpointConfigName"]
    variant: Description
    variant, *_ = aws.sagemaker.describe_endpoint_config(EndpointConfigName=name)["ProductionVariants"]
    return variant


def instance_type(aws: Aws, endpoint: str) -> str:
    """The instance type of the endpoint's first variant, such as ``ml.g5.xlarge``; "?" when it has none.
    Raises :class:`EnsembleError`: there is no such endpoint, or AWS's reason."""
    with aws_errors(f"describe {endpoint}"):
        return str(configured_variant(aws, endpoint).get("InstanceType", "?"))


def container_of(aws: Aws, variant: Mapping[str, Any]) -> Description | None:
    """The container of a configured variant's model; None of one that has no model (of inference components), or one
    that was deleted."""
    name = variant.get("ModelName")
    model = if_exists(aws.sagemaker.describe_model, ModelName=name) if name else None
    return model and model.get("PrimaryContainer", {})


def tags_of(aws: Aws, arn: str) -> dict[str, str]:
    """The tags of the resource of SageMaker with this ARN."""
    pages = aws.sagemaker.get_paginator("list_tags").paginate(ResourceArn=arn)
    return read_tags(tag for page in pages for tag in page["Tags"])


def refuse_foreign(aws: Aws, description: Description) -> dict[str, str]:
    """The tags of the endpoint of which DescribeEndpoint has answered ``description``.
    Raises :class:`EnsembleError`: this tool did not create the endpoint."""
    tags = tags_of(aws, description["EndpointArn"])
    if tags.get(MADE_BY) != OURS:
        message = f"the endpoint {description['EndpointName']} was not created by this tool, so it is left alone"
        raise EnsembleError(message, cure="use another --endpoint")
    return tags


def wait_until_settled(aws: Aws, endpoint: str, progress: Progress, timeout: float) -> Description | None:
    """DescribeEndpoint's answer once the endpoint is in a state that lasts; None when it does not exist (any more).
    Raises :class:`EnsembleError`: it was still being created, updated or deleted after ``timeout`` seconds."""
    started = reported = time.monotonic()
    pause, before = FIRST_PAUSE, ""
    while True:
        description = find_endpoint(aws, endpoint)
        status = description["EndpointStatus"] if description else "deleted"
        now = time.monotonic()
        if status not in _TRANSIENT:
            if before:
                progress(f"{endpoint}: {status} after {now - started:.0f} s")
            return description
        if status != before or now - reported > _REPORT_INTERVAL:
            progress(f"{endpoint}: {status} ({now - started:.0f} s)")
            reported = now
        if now - started > timeout:
            message = f"the endpoint {endpoint} was still {status} after {timeout:.0f} s"
            raise EnsembleError(message, cure="check it later with: status")
        before = status
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)


def delete_endpoint(aws: Aws, endpoint: str, progress: Progress, timeout: float) -> bool:
    """Delete the endpoint and wait until it is gone; False when there was no such endpoint.

    SageMaker refuses to delete an endpoint that is being created or updated, so this waits for that to end: an
    endpoint that is left alone still costs money.

    Raises:
        EnsembleError: it still exists after ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        if wait_until_settled(aws, endpoint, progress, max(0.0, deadline - time.monotonic())) is None:
            return False
        try:
            if if_exists(aws.sagemaker.delete_endpoint, EndpointName=endpoint) is None:
                return False
            break
        except ClientError as error:
            if not is_busy(error):
                raise
    seconds = max(_DELETION_SECONDS, deadline - time.monotonic())
    if wait_until_settled(aws, endpoint, progress, seconds) is not None:
        raise EnsembleError(f"the endpoint {endpoint} still exists", cure="run undeploy again")
    return True
