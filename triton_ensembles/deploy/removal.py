"""Deletion of everything that the other commands created: what costs money by the hour first."""

from collections.abc import Callable, Collection, Mapping

from triton_ensembles.deploy.autoscaling import remove_scaling
from triton_ensembles.deploy.aws import Aws, aws_errors
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.desired_endpoint import CONFIG, MODEL
from triton_ensembles.deploy.resource_names import AUTOSCALED, MADE_BY, OURS, is_derived
from triton_ensembles.deploy.sagemaker_endpoint import delete_endpoint, find_endpoint, refuse_foreign, tags_of
from triton_ensembles.deploy.stored import delete_uploaded
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress


def delete_unused(aws: Aws, endpoint: str, progress: Progress, keep: Collection[str] = ()) -> int:
    """Delete the models and configurations that were ever deployed for ``endpoint``, except those named in ``keep``.

    Returns how many were deleted. Raises :class:`ClientError` with AWS's reason.
    """
    deleted = 0
    for kind in (CONFIG, MODEL):
        pages = aws.sagemaker.get_paginator(f"list_{kind.snake}s").paginate(NameContains=endpoint)
        for resource in [resource for page in pages for resource in page[f"{kind.key}s"]]:
            name, arn = resource[f"{kind.key}Name"], resource[f"{kind.key}Arn"]
            if name not in keep and is_derived(endpoint, name) and tags_of(aws, arn).get(MADE_BY) == OURS:
                kind.delete(aws, name)
                progress(f"deleted the {kind.noun} {name}")
                deleted += 1
    return deleted


def undeploy_endpoint(aws: Aws, endpoint: str, place: S3Prefix | None, progress: Progress, timeout: float) -> int:
    """Delete the endpoint and all that belongs to it. A step that fails does not stop the others.

    Args:
        place: where the archives are; None keeps them.
        timeout: seconds until the endpoint has to be gone.

    Returns:
        How many resources were deleted; 0 when there was nothing to delete, which is not an error.

    Raises:
        EnsembleError: this tool did not create the endpoint, or some resources still exist.
    """

    def delete_it() -> int:
        deleted = delete_endpoint(aws, endpoint, progress, timeout)
        if deleted:
            progress(f"deleted the endpoint {endpoint}")
        return deleted

    with aws_errors(f"describe {endpoint}"):
        description = find_endpoint(aws, endpoint)
        tags = refuse_foreign(aws, description) if description else {}
    steps: dict[str, Callable[[], int]] = {}
    if AUTOSCALED in tags:
        steps["auto scaling"] = lambda: remove_scaling(aws, endpoint, tags[AUTOSCALED], progress)
    steps["endpoint"] = delete_it
    steps["models and configurations"] = lambda: delete_unused(aws, endpoint, progress)
    if place:
        steps["archives"] = lambda: delete_uploaded(aws, place, progress)
    return _run(steps, endpoint, progress)


def _run(steps: Mapping[str, Callable[[], int]], endpoint: str, progress: Progress) -> int:
    deleted, failures = 0, []
    for resources, step in steps.items():
        try:
            with aws_errors(f"delete the {resources}"):
                deleted += step()
        except EnsembleError as error:
            progress(str(error))
            failures.append(resources)
    if failures:
        raise EnsembleError(f"could not delete all of {endpoint}: {', '.join(failures)}", cure="run undeploy again")
    return deleted
