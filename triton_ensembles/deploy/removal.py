"""Everything that the other commands have made, removed: what goes on costing money first."""

from __future__ import annotations

from collections.abc import Callable

from triton_ensembles.deploy.autoscaling import remove_scaling
from triton_ensembles.deploy.aws import Aws, doing
from triton_ensembles.deploy.bucket import Place, remove_uploaded
from triton_ensembles.deploy.sagemaker_endpoint import delete_endpoint, find_endpoint, refuse_foreign
from triton_ensembles.deploy.endpoint_resources import remove_superseded
from triton_ensembles.deploy.resource_names import AUTOSCALED
from triton_ensembles.deploy.rollback import Say
from triton_ensembles.errors import EnsembleError


def undeploy(aws: Aws, endpoint: str, place: Place | None, say: Say, limit: float) -> int:
    """How many things were removed; nothing to remove is no error. A step that fails does not stop the others.

    Args:
        place: where the archives are; None keeps them.

    Raises:
        EnsembleError: the endpoint is not ours, or something is still there.
    """
    with doing(f"looking for {endpoint}"):
        found = find_endpoint(aws, endpoint)
        tags = refuse_foreign(aws, found) if found else {}
    steps: list[tuple[str, Callable[[], int]]] = []
    if AUTOSCALED in tags:
        steps.append(("auto scaling", lambda: remove_scaling(aws, endpoint, tags[AUTOSCALED], say)))
    steps.append(("endpoint", lambda: _remove_endpoint(aws, endpoint, say, limit)))
    steps.append(("models and configurations", lambda: remove_superseded(aws, endpoint, say)))
    if place:
        steps.append(("archives", lambda: remove_uploaded(aws, place, say)))
    removed, failures = 0, []
    for what, step in steps:
        try:
            with doing(f"removing the {what}"):
                removed += step()
        except EnsembleError as error:
            say(str(error))
            failures.append(what)
    if failures:
        raise EnsembleError(f"of {endpoint} this could not be removed: {', '.join(failures)}", cure="undeploy again")
    return removed


def _remove_endpoint(aws: Aws, endpoint: str, say: Say, limit: float) -> int:
    if not delete_endpoint(aws, endpoint, say, limit):
        return 0
    say(f"deleted the endpoint {endpoint}")
    return 1
