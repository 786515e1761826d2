"""The models and endpoint configurations of one endpoint, those of earlier deployments and failed runs among them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.aws_errors import if_exists
from triton_ensembles.deploy.resource_names import MADE_BY, OURS, is_derived
from triton_ensembles.deploy.rollback import Progress
from triton_ensembles.deploy.sagemaker_endpoint import tags_of


def delete_model(aws: Aws, name: str) -> None:
    """Delete a model, if it exists."""
    if_exists(aws.sagemaker.delete_model, ModelName=name)


def delete_config(aws: Aws, name: str) -> None:
    """Delete an endpoint configuration, if it exists."""
    if_exists(aws.sagemaker.delete_endpoint_config, EndpointConfigName=name)


def delete_unused(aws: Aws, endpoint: str, progress: Progress, keep: Collection[str] = ()) -> int:
    """Delete the models and configurations that were ever deployed for ``endpoint``.

    Args:
        keep: names of those to keep.

    Returns:
        How many were deleted.

    Raises:
        ClientError: AWS's reason.
    """
    deleted = 0
    for what, kind, delete in (
        ("endpoint configuration", "EndpointConfig", delete_config),
        ("model", "Model", delete_model),
    ):
        for name in _ours(aws, kind, endpoint):
            if name not in keep:
                delete(aws, name)
                progress(f"deleted the {what} {name}")
                deleted += 1
    return deleted


def _ours(aws: Aws, kind: str, endpoint: str) -> Iterator[str]:
    operation = {"EndpointConfig": "list_endpoint_configs", "Model": "list_models"}[kind]
    pages = aws.sagemaker.get_paginator(operation).paginate(NameContains=endpoint)
    for each in [each for page in pages for each in page[f"{kind}s"]]:
        name, arn = each[f"{kind}Name"], each[f"{kind}Arn"]
        if is_derived(endpoint, name) and tags_of(aws, arn).get(MADE_BY) == OURS:
            yield name
