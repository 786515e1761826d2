"""The models and endpoint configurations of one endpoint, those of earlier deployments and failed runs among them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.aws_errors import if_exists
from triton_ensembles.deploy.resource_names import MADE_BY, OURS, is_derived
from triton_ensembles.deploy.rollback import Progress
from triton_ensembles.deploy.sagemaker_endpoint import tags_of


@dataclass(frozen=True)
class Kind:
    """A kind of resource: as users are told, in the keys of SageMaker's API, and in the names of boto3's operations."""

    noun: str
    key: str
    snake: str

    def operation(self, aws: Aws, verb: str) -> Callable[..., Any]:
        """The operation ``verb`` of boto3 on resources of this kind."""
        found: Callable[..., Any] = getattr(aws.sagemaker, f"{verb}_{self.snake}")
        return found

    def delete(self, aws: Aws, name: str) -> None:
        """Delete the resource, if it exists."""
        if_exists(self.operation(aws, "delete"), **{f"{self.key}Name": name})


MODEL = Kind("model", "Model", "model")
CONFIG = Kind("endpoint configuration", "EndpointConfig", "endpoint_config")


def delete_unused(aws: Aws, endpoint: str, progress: Progress, keep: Collection[str] = ()) -> int:
    """Delete the models and configurations that were ever deployed for ``endpoint``, except those named in ``keep``.

    Returns how many were deleted. Raises :class:`ClientError` with AWS's reason.
    """
    deleted = 0
    for kind in (CONFIG, MODEL):
        pages = aws.sagemaker.get_paginator(f"list_{kind.snake}s").paginate(NameContains=endpoint)
        for each in [each for page in pages for each in page[f"{kind.key}s"]]:
            name, arn = each[f"{kind.key}Name"], each[f"{kind.key}Arn"]
            if name not in keep and is_derived(endpoint, name) and tags_of(aws, arn).get(MADE_BY) == OURS:
                kind.delete(aws, name)
                progress(f"deleted the {kind.noun} {name}")
                deleted += 1
    return deleted
