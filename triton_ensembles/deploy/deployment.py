"""Model, endpoint configuration and endpoint: created or updated only where they differ from the desired endpoint."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from triton_ensembles.deploy.aws import Aws, aws_errors, if_exists
from triton_ensembles.deploy.desired_endpoint import CONFIG, MODEL, DesiredEndpoint, Kind
from triton_ensembles.deploy.removal import delete_unused
from triton_ensembles.deploy.resource_names import AUTOSCALED, write_tags
from triton_ensembles.deploy.sagemaker_endpoint import Description, delete_endpoint, refuse_foreign, wait_until_settled
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress

Created = Callable[[str, Callable[[], object]], None]
"""Takes what was created, in words, and what deletes it again."""


def deploy_endpoint(aws: Aws, desired: DesiredEndpoint, progress: Progress, timeout: float) -> str:
    """Create the endpoint, or update it where it differs. After a failure, what this call created is deleted again.

    Args:
        timeout: seconds until the endpoint has to be in service.

    Returns:
        ``created``, ``updated`` or ``unchanged``.

    Raises:
        EnsembleError: another tool created the endpoint, or SageMaker's reason.
    """
    name = desired.name
    with aws_errors(f"deploy {name}"), _rollback(progress) as created:
        existing = wait_until_settled(aws, name, progress, timeout)
        tags = refuse_foreign(aws, existing) if existing else {}
        if existing and existing["EndpointStatus"] in ("Failed", "OutOfService"):
            progress(f"{name} is {existing['EndpointStatus']} and cannot be updated: recreating it")
            delete_endpoint(aws, name, progress, timeout)
            existing = None
        if existing and existing["EndpointConfigName"] == desired.config_name:
            _refuse_broken(existing, desired)
            return "unchanged"
        _create_parts(aws, desired, created, progress, timeout)
        if existing is None:
            created(f"endpoint {name}", partial(delete_endpoint, aws, name, progress, timeout))
            aws.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=desired.config_name, Tags=write_tags())
        else:
            progress(f"updating {name} from {existing['EndpointConfigName']} to {desired.config_name}")
            _update(aws, desired, is_scaled=AUTOSCALED in tags)
        _refuse_broken(wait_until_settled(aws, name, progress, timeout), desired)
    # Only now: SageMaker cannot update an endpoint whose present configuration is gone.
    with aws_errors(f"delete what {name} no longer uses"):
        delete_unused(aws, name, progress, keep=(desired.model_name, desired.config_name))
    return "created" if existing is None else "updated"


def _create_parts(aws: Aws, desired: DesiredEndpoint, created: Created, progress: Progress, timeout: float) -> None:
    """Create the model and the configuration, unless they exist."""
    for kind, request in ((MODEL, desired.model), (CONFIG, desired.config)):
        key = f"{kind.key}Name"
        if if_exists(kind.operation(aws, "describe"), **{key: request[key]}) is None:
            progress(f"creating the {kind.noun} {request[key]}")
            delete = partial(_delete_unless_used, aws, kind, request[key], desired, progress, timeout)
            created(f"{kind.noun} {request[key]}", delete)
            kind.operation(aws, "create")(**request, Tags=write_tags())


def _update(aws: Aws, desired: DesiredEndpoint, *, is_scaled: bool) -> None:
    # The scaling policy then decides how many instances run.
    keep = {"RetainAllVariantProperties": True} if is_scaled else {}
    aws.sagemaker.update_endpoint(EndpointName=desired.name, EndpointConfigName=desired.config_name, **keep)


@contextmanager
def _rollback(progress: Progress) -> Iterator[Created]:
    """Deletes what was created, the latest first, when the block ends with an exception (Ctrl-C also is one).

    It gives a function for the name of a resource and what deletes it, also where it does not exist. That is called
    before the resource is requested: a request may have succeeded although its answer was lost.
    """
    resources: list[tuple[str, Callable[[], object]]] = []
    try:
        yield lambda resource, delete: resources.append((resource, delete))
    except BaseException:
        for resource, delete in reversed(resources):
            progress(f"rolling back: deleting the {resource}")
            try:
                delete()
            except Exception as failure:  # the others are deleted
                progress(f"could not delete the {resource}: {failure}")
        raise


def _refuse_broken(now: Description | None, desired: DesiredEndpoint) -> None:
    if now is None:
        raise EnsembleError(f"the endpoint {desired.name} was deleted by someone else during the deployment")
    if now["EndpointStatus"] != "InService" or now["EndpointConfigName"] != desired.config_name:
        reason = now.get("FailureReason") or f"it is {now['EndpointStatus']} with {now['EndpointConfigName']}"
        raise EnsembleError(f"the endpoint {desired.name} did not get into service: {reason}")


def _delete_unless_used(
    aws: Aws, kind: Kind, name: str, desired: DesiredEndpoint, progress: Progress, timeout: float
) -> None:
    """An update continues although nobody waits for it any more (Ctrl-C); what the endpoint ended up with is kept."""
    now = wait_until_settled(aws, desired.name, progress, timeout)
    if now and now["EndpointConfigName"] == desired.config_name:
        progress("kept: the endpoint uses it now")
    else:
        kind.delete(aws, name)
