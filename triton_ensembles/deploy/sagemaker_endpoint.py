"""One endpoint of SageMaker: how it is found, waited for and deleted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError

from triton_ensembles.deploy.aws import Aws, is_busy, is_missing
from triton_ensembles.deploy.resource_names import MADE_BY, OURS, read_tags
from triton_ensembles.deploy.rollback import Say
from triton_ensembles.errors import EnsembleError

# DescribeEndpoint: these end by themselves; the others stay until someone does something.
_PASSING = frozenset({"Creating", "Updating", "SystemUpdating", "RollingBack", "Deleting"})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0  # seconds between two looks
_TOLD_EVERY = 60.0

Description = dict[str, Any]


def find(describe: Callable[..., Description], **name: str) -> Description | None:
    """What a Describe operation says, or None when there is no such thing."""
    try:
        return describe(**name)
    except ClientError as error:
        if is_missing(error):
            return None
        raise


def find_endpoint(aws: Aws, endpoint: str) -> Description | None:
    return find(aws.sagemaker.describe_endpoint, EndpointName=endpoint)


def tags_of(aws: Aws, arn: str) -> dict[str, str]:
    pages = aws.sagemaker.get_paginator("list_tags").paginate(ResourceArn=arn)
    return read_tags(tag for page in pages for tag in page["Tags"])


def refuse_foreign(aws: Aws, found: Description) -> dict[str, str]:
    """The endpoint's tags. Raises :class:`EnsembleError` when this tool did not make it."""
    tags = tags_of(aws, found["EndpointArn"])
    if tags.get(MADE_BY) != OURS:
        raise EnsembleError(
            f"there is an endpoint {found['EndpointName']} that this tool did not make, and it is not touched",
            cure="use another --endpoint",
        )
    return tags


def settle(aws: Aws, endpoint: str, say: Say, limit: float) -> Description | None:
    """Wait until the endpoint is in a state that lasts; its description, or None when it is not there (any more).

    Raises:
        EnsembleError: it still was on its way after ``limit`` seconds.
    """
    started = told = time.monotonic()
    pause, before = _FIRST_PAUSE, ""
    while True:
        found = find_endpoint(aws, endpoint)
        status = found["EndpointStatus"] if found else "gone"
        now = time.monotonic()
        if status not in _PASSING:
            if before:
                say(f"{endpoint}: {status} after {now - started:.0f} s")
            return found
        if status != before or now - told > _TOLD_EVERY:
            say(f"{endpoint}: {status} ({now - started:.0f} s)")
            told = now
        if now - started > limit:
            raise EnsembleError(
                f"the endpoint {endpoint} was still {status} after {limit:.0f} s", cure="look again later: status"
            )
        before = status
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def delete_endpoint(aws: Aws, endpoint: str, say: Say, limit: float) -> bool:
    """Delete it and wait until it is gone; False when there was none.

    SageMaker refuses to delete what is being created or updated, so that is waited for: until then it costs money.
    """
    deadline = time.monotonic() + limit
    while True:
        if settle(aws, endpoint, say, max(0.0, deadline - time.monotonic())) is None:
            return False
        try:
            aws.sagemaker.delete_endpoint(EndpointName=endpoint)
            break
        except ClientError as error:
            if is_missing(error):
                return False
            if not is_busy(error):
                raise
    if settle(aws, endpoint, say, max(60.0, deadline - time.monotonic())) is not None:
        raise EnsembleError(f"the endpoint {endpoint} is still there", cure="undeploy again")
    return True
