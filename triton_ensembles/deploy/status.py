"""What there is of an endpoint now, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triton_ensembles.deploy.autoscaling import scaling_of
from triton_ensembles.deploy.aws import Aws, doing
from triton_ensembles.deploy.bucket import Place, stored, weights_of
from triton_ensembles.deploy.sagemaker_endpoint import find, find_endpoint, tags_of
from triton_ensembles.deploy.resource_names import AUTOSCALED, MADE_BY, OURS, WEIGHTS
from triton_ensembles.deploy.price import cost, hosting_price

_SHOWN = 50  # archives; each costs a request


def status(aws: Aws, endpoint: str) -> tuple[bool, list[str]]:
    """Whether the endpoint is in service, and the lines. Raises :class:`EnsembleError` with AWS's reason."""
    with doing(f"looking at {endpoint}"):
        found = find_endpoint(aws, endpoint)
        if found is None:
            return False, [f"{endpoint}: not there"]
        return found["EndpointStatus"] == "InService", list(_lines(aws, endpoint, found))


def _lines(aws: Aws, endpoint: str, found: dict[str, Any]) -> Iterator[str]:
    tags = tags_of(aws, found["EndpointArn"])
    yield f"{endpoint}: {found['EndpointStatus']}"
    if reason := found.get("FailureReason"):
        yield f"  reason   {reason}"
    if tags.get(MADE_BY) != OURS:
        yield "  not made by this tool"
    if tags.get(WEIGHTS) == "random":
        yield "  weights  RANDOM: what it answers means nothing"
    name = found["EndpointConfigName"]
    config = find(aws.sagemaker.describe_endpoint_config, EndpointConfigName=name)
    variants = {each["VariantName"]: each for each in config["ProductionVariants"]} if config else {}
    yield f"  config   {name}{'' if config else ' (deleted)'}"
    for variant in found.get("ProductionVariants", ()):
        wanted = variants.get(variant["VariantName"], {})
        yield from _variant_lines(aws, variant, wanted)
    if AUTOSCALED in tags:
        for line in scaling_of(aws, endpoint, tags[AUTOSCALED]):
            yield f"  scaling  {line}"


def _variant_lines(aws: Aws, variant: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    instance = wanted.get("InstanceType", "?")
    now, desired = variant.get("CurrentInstanceCount", 0), variant.get("DesiredInstanceCount", 0)
    yield f"  variant  {variant['VariantName']}: {now} of {desired} {instance}"
    yield f"           {cost(hosting_price(aws, instance), instance, now, now)}"
    model = find(aws.sagemaker.describe_model, ModelName=wanted["ModelName"]) if wanted.get("ModelName") else None
    if model is None:
        return
    container = model["PrimaryContainer"]
    yield f"  image    {container['Image']}"
    url = container.get("ModelDataUrl", "")
    yield f"  models   {url}"
    if container.get("Mode") == "MultiModel" and url.startswith("s3://"):
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        place = Place(bucket, prefix)
        archives = list(stored(aws, place))
        for each in archives[:_SHOWN]:
            weights = weights_of(aws, place, each.key) or "not uploaded by this tool"
            yield f"           {each.key}  {each.size / 1e6:.1f} MB, weights {weights}"
        if len(archives) > _SHOWN:
            yield f"           and {len(archives) - _SHOWN} more"
