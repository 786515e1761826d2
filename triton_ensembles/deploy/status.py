"""The present state of an endpoint, as lines for people."""

from collections.abc import Iterator
from typing import Any

from triton_ensembles.archive.manifest import PROVIDED, RANDOM, random_weights
from triton_ensembles.deploy.autoscaling import describe_scaling
from triton_ensembles.deploy.aws import Aws, aws_errors, if_exists
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.price import cost, known_price
from triton_ensembles.deploy.resource_names import AUTOSCALED, MADE_BY, OURS
from triton_ensembles.deploy.sagemaker_endpoint import container_of, find_endpoint, tags_of
from triton_ensembles.deploy.stored import head_of, is_ours, stored_archives
from triton_ensembles.triton.sagemaker_variables import DEFAULT_MODEL

_SHOWN = 50  # archives; each costs a request
_WORDS = {PROVIDED: "provided: some came by hand, so nothing says what they are"}


def endpoint_status(aws: Aws, endpoint: str) -> tuple[bool, list[str]]:
    """Return whether the endpoint is in service, and the lines that describe it.
    Raises :class:`EnsembleError`: AWS's reason."""
    with aws_errors(f"describe {endpoint}"):
        description = find_endpoint(aws, endpoint)
        if description is None:
            return False, [f"{endpoint}: does not exist"]
        return description["EndpointStatus"] == "InService", list(_lines(aws, endpoint, description))


def _lines(aws: Aws, endpoint: str, description: dict[str, Any]) -> Iterator[str]:
    tags = tags_of(aws, description["EndpointArn"])
    yield f"{endpoint}: {description['EndpointStatus']}"
    if reason := description.get("FailureReason"):
        yield f"  reason   {reason}"
    if tags.get(MADE_BY) != OURS:
        yield "  not created by this tool"
    name = description["EndpointConfigName"]
    config = if_exists(aws.sagemaker.describe_endpoint_config, EndpointConfigName=name)
    variants = {configured["VariantName"]: configured for configured in config["ProductionVariants"]} if config else {}
    yield f"  config   {name}{'' if config else ' (deleted)'}"
    for variant in description.get("ProductionVariants", ()):
        yield from _variant_lines(aws, variant, variants.get(variant["VariantName"], {}))
    if AUTOSCALED in tags:
        for line in describe_scaling(aws, endpoint, tags[AUTOSCALED]):
            yield f"  scaling  {line}"


def _variant_lines(aws: Aws, variant: dict[str, Any], configured: dict[str, Any]) -> Iterator[str]:
    instance = configured.get("InstanceType", "?")
    now, desired = variant.get("CurrentInstanceCount", 0), variant.get("DesiredInstanceCount", 0)
    yield f"  variant  {variant['VariantName']}: {now} of {desired} {instance}"
    yield f"           {cost(known_price(aws, instance), instance, now, now)}"
    container = container_of(aws, configured)
    if container is None:
        return
    yield f"  image    {container['Image']}"
    url = container.get("ModelDataUrl", "")
    yield f"  models   {url}"
    if container.get("Mode") == "MultiModel" and url.startswith("s3://"):
        place, keys = S3Prefix.of_url(url), [*stored_archives(aws, S3Prefix.of_url(url))]
    else:
        folder, _, key = url.rpartition("/")
        place, keys = S3Prefix.of_url(folder), [key] if url.startswith("s3://") else []
        yield f"           a single-model endpoint: {container.get('Environment', {}).get(DEFAULT_MODEL, '')}"
    for key in keys[:_SHOWN]:
        yield from _archive_lines(aws, place, key)
    if len(keys) > _SHOWN:
        yield f"           and {len(keys) - _SHOWN} more"


def _archive_lines(aws: Aws, place: S3Prefix, key: str) -> Iterator[str]:
    if head := head_of(aws, place, key):
        weights = head["Metadata"].get("weights", "") if is_ours(head) else "not uploaded by this tool"
        yield f"           {key}  {head['ContentLength'] / 1e6:.1f} MB, weights {_WORDS.get(weights, weights)}"
        if weights == RANDOM:
            yield f"           {random_weights(key)}"
