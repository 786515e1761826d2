"""Deletion of everything that the other commands created: what costs money by the hour first."""

from __future__ import annotations

from collections.abc import Callable

from triton_ensembles.deploy.autoscaling import remove_scaling
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.aws_errors import aws_errors
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.endpoint_resources import delete_unused
from triton_ensembles.deploy.resource_names import AUTOSCALED
from triton_ensembles.deploy.rollback import Progress
from triton_ensembles.deploy.sagemaker_endpoint import delete_endpoint, find_endpoint, refuse_foreign
from triton_ensembles.deploy.uploads import delete_uploaded
from triton_ensembles.errors import EnsembleError


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
        found = find_endpoint(aws, endpoint)
        tags = refuse_foreign(aws, found) if found else {}
    steps: dict[str, Callable[[], int]] = {}
    if AUTOSCALED in tags:
        steps["auto scaling"] = lambda: remove_scaling(aws, endpoint, tags[AUTOSCALED], progress)
    steps["endpoint"] = delete_it
    steps["models and configurations"] = lambda: delete_unused(aws, endpoint, progress)
    if place:
        steps["archives"] = lambda: delete_uploaded(aws, place, progress)
    deleted, failures = 0, []
    for what, step in steps.items():
        try:
            with aws_errors(f"delete the {what}"):
                deleted += step()
        except EnsembleError as error:
            progress(str(error))
            failures.append(what)
    if failures:
        raise EnsembleError(f"could not delete all of {endpoint}: {', '.join(failures)}", cure="run undeploy again")
    return deleted
