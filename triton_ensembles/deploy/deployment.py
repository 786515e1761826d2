"""Model, endpoint configuration and endpoint, made or changed to what is wished, and only where they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from triton_ensembles.deploy.aws import Aws, doing
from triton_ensembles.deploy.sagemaker_endpoint import Description, delete_endpoint, find, refuse_foreign, settle
from triton_ensembles.deploy.endpoint_resources import delete_config, delete_model, remove_superseded
from triton_ensembles.deploy.resource_names import AUTOSCALED, VARIANT, WEIGHTS, derived_name, written_tags
from triton_ensembles.deploy.rollback import Say, Undo
from triton_ensembles.errors import EnsembleError


@dataclass(frozen=True)
class Wish:
    """A multi-model endpoint.

    Args:
        role: the ARN of the execution role, which SageMaker assumes to read image and archives.
        url: the prefix in S3, ending with a slash.
        weights: "random" when any archive has random weights; kept as a tag, so that ``status`` can tell.
        cache: ModelCacheSetting; without it SageMaker unloads and deletes a model after each request.
        environment: of the container (SAGEMAKER_TRITON_…).
    """

    endpoint: str
    role: str
    image: str
    instance: str
    count: int
    url: str
    weights: str = ""
    cache: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> dict[str, Any]:
        """CreateModel's arguments."""
        container: dict[str, Any] = {
            "Image": self.image,
            "Mode": "MultiModel",
            "ModelDataUrl": self.url,
            "MultiModelConfig": {"ModelCacheSetting": "Enabled" if self.cache else "Disabled"},
        }
        if self.environment:
            container["Environment"] = dict(self.environment)
        return self._named("ModelName", {"ExecutionRoleArn": self.role, "PrimaryContainer": container})

    @property
    def config(self) -> dict[str, Any]:
        """CreateEndpointConfig's arguments."""
        variant = {
            "VariantName": VARIANT,
            "ModelName": self.model["ModelName"],
            "InstanceType": self.instance,
            "InitialInstanceCount": self.count,
            "InitialVariantWeight": 1.0,
        }
        return self._named("EndpointConfigName", {"ProductionVariants": [variant]})

    def _named(self, key: str, request: dict[str, Any]) -> dict[str, Any]:
        return {key: derived_name(self.endpoint, request), **request}


def deploy(aws: Aws, wish: Wish, say: Say, limit: float) -> str:
    """``created``, ``updated`` or ``unchanged``. When it fails, what it made is removed again.

    Args:
        limit: seconds until the endpoint has to be in service.

    Raises:
        EnsembleError: SageMaker's reason.
    """
    with doing(f"deploying {wish.endpoint}"), Undo(say) as undo:
        found = settle(aws, wish.endpoint, say, limit)
        tags = refuse_foreign(aws, found) if found else {}
        if found and found["EndpointStatus"] in ("Failed", "OutOfService"):
            say(f"{wish.endpoint} is {found['EndpointStatus']} and cannot be updated: it is made anew")
            delete_endpoint(aws, wish.endpoint, say, limit)
            found = None
        marks = {WEIGHTS: wish.weights or "not-stated"}
        if found and found["EndpointConfigName"] == wish.config["EndpointConfigName"]:
            _refuse_broken(found, wish)
            aws.sagemaker.add_tags(ResourceArn=found["EndpointArn"], Tags=written_tags(marks))
            return "unchanged"
        _ensure_model(aws, wish, say, undo, limit)
        _ensure_config(aws, wish, say, undo, limit)
        names = {"EndpointName": wish.endpoint, "EndpointConfigName": wish.config["EndpointConfigName"]}
        if found is None:
            undo.made(f"endpoint {wish.endpoint}", partial(delete_endpoint, aws, wish.endpoint, say, limit))
            aws.sagemaker.create_endpoint(**names, Tags=written_tags(marks))
        else:
            say(f"updating {wish.endpoint} from {found['EndpointConfigName']} to {names['EndpointConfigName']}")
            # How many instances run is then the scaling policy's to say, not ours.
            keep = {"RetainAllVariantProperties": True} if AUTOSCALED in tags else {}
            aws.sagemaker.update_endpoint(**names, **keep)
        now = settle(aws, wish.endpoint, say, limit)
        if now is None:
            raise EnsembleError(f"the endpoint {wish.endpoint} was deleted while it was waited for")
        _refuse_broken(now, wish)
        if found is not None:
            aws.sagemaker.add_tags(ResourceArn=now["EndpointArn"], Tags=written_tags(marks))
    # Only now: SageMaker cannot update an endpoint whose present configuration is gone.
    with doing(f"removing what {wish.endpoint} no longer uses"):
        remove_superseded(aws, wish.endpoint, say, keep=(wish.model["ModelName"], wish.config["EndpointConfigName"]))
    return "created" if found is None else "updated"


def _refuse_broken(now: Description, wish: Wish) -> None:
    if now["EndpointStatus"] != "InService" or now["EndpointConfigName"] != wish.config["EndpointConfigName"]:
        reason = now.get("FailureReason") or f"it is {now['EndpointStatus']} with {now['EndpointConfigName']}"
        raise EnsembleError(f"the endpoint {wish.endpoint} did not get into service: {reason}")


def _ensure_model(aws: Aws, wish: Wish, say: Say, undo: Undo, limit: float) -> None:
    name = wish.model["ModelName"]
    if find(aws.sagemaker.describe_model, ModelName=name) is None:
        say(f"creating the model {name}")
        undo.made(f"model {name}", _unless_used(aws, wish, say, limit, partial(delete_model, aws, name)))
        aws.sagemaker.create_model(**wish.model, Tags=written_tags())


def _ensure_config(aws: Aws, wish: Wish, say: Say, undo: Undo, limit: float) -> None:
    name = wish.config["EndpointConfigName"]
    if find(aws.sagemaker.describe_endpoint_config, EndpointConfigName=name) is None:
        say(f"creating the endpoint configuration {name}")
        undo.made(
            f"endpoint configuration {name}", _unless_used(aws, wish, say, limit, partial(delete_config, aws, name))
        )
        aws.sagemaker.create_endpoint_config(**wish.config, Tags=written_tags())


def _unless_used(aws: Aws, wish: Wish, say: Say, limit: float, remove: Callable[[], object]) -> Callable[[], object]:
    """An update goes on though nobody waits for it any more (Ctrl-C); what the endpoint ended up with is kept."""

    def remove_unless_used() -> None:
        now = settle(aws, wish.endpoint, say, limit)
        if now and now["EndpointConfigName"] == wish.config["EndpointConfigName"]:
            say("kept: the endpoint uses it now")
        else:
            remove()

    return remove_unless_used
