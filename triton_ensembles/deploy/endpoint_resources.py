"""Models and endpoint configurations of one endpoint: those that an update or a broken run has left, too."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from botocore.exceptions import ClientError

from triton_ensembles.deploy.aws import Aws, is_missing
from triton_ensembles.deploy.sagemaker_endpoint import tags_of
from triton_ensembles.deploy.resource_names import MADE_BY, OURS, is_derived
from triton_ensembles.deploy.rollback import Say


def delete_model(aws: Aws, name: str) -> None:
    """Does nothing when it is gone already."""
    try:
        aws.sagemaker.delete_model(ModelName=name)
    except ClientError as error:
        if not is_missing(error):
            raise


def delete_config(aws: Aws, name: str) -> None:
    """Does nothing when it is gone already."""
    try:
        aws.sagemaker.delete_endpoint_config(EndpointConfigName=name)
    except ClientError as error:
        if not is_missing(error):
            raise


def remove_superseded(aws: Aws, endpoint: str, say: Say, keep: Collection[str] = ()) -> int:
    """Delete all that ``deploy`` ever made for ``endpoint``, except the endpoint itself and what ``keep`` names."""
    removed = 0
    for name in _ours(aws, "list_endpoint_configs", "EndpointConfigs", "EndpointConfig", endpoint):
        if name not in keep:
            delete_config(aws, name)
            say(f"deleted the endpoint configuration {name}")
            removed += 1
    for name in _ours(aws, "list_models", "Models", "Model", endpoint):
        if name not in keep:
            delete_model(aws, name)
            say(f"deleted the model {name}")
            removed += 1
    return removed


def _ours(aws: Aws, operation: str, key: str, kind: str, endpoint: str) -> Iterator[str]:
    pages = aws.sagemaker.get_paginator(operation).paginate(NameContains=endpoint)
    for each in [each for page in pages for each in page[key]]:
        name, arn = each[f"{kind}Name"], each[f"{kind}Arn"]
        if is_derived(endpoint, name) and tags_of(aws, arn).get(MADE_BY) == OURS:
            yield name
