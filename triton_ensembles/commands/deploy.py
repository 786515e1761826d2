"""``upload``, ``deploy``, ``autoscale``, ``status`` and ``undeploy`` on the command line (``invoke`` has its own file).

They follow AWS_ENDPOINT_URL as all of boto3 does; there is nothing else to say to run them against the local endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from triton_ensembles.commands import deploy_options as options
from triton_ensembles.deploy.archives import Archive, find_archives, read_archive, refuse_faulty, refuse_random
from triton_ensembles.deploy.autoscaling import (
    GPU_TARGET,
    SCALE_IN_COOLDOWN,
    SCALE_OUT_COOLDOWN,
    Metric,
    Scaling,
)
from triton_ensembles.deploy.autoscaling import autoscale as autoscale_endpoint
from triton_ensembles.deploy.autoscaling import instance_now as instance_of_endpoint
from triton_ensembles.deploy.aws import Aws, doing
from triton_ensembles.deploy.bucket import Place, find_place, is_uploaded, stored
from triton_ensembles.deploy.bucket import upload as upload_archives
from triton_ensembles.deploy.deployment import Wish
from triton_ensembles.deploy.deployment import deploy as deploy_endpoint
from triton_ensembles.deploy.image import default_image, image_to_check, image_uri
from triton_ensembles.deploy.price import cost, hosting_price
from triton_ensembles.deploy.removal import undeploy as undeploy_endpoint
from triton_ensembles.deploy.status import status as status_of
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import DIST
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.targets import CPU

_INSTANCES = {CPU.name: "ml.c5.xlarge", "gpu": "ml.g4dn.xlarge"}


@click.command("upload")
@options.archives
@options.endpoint
@options.bucket
@options.prefix
@options.target
@options.allow_random
@options.careful
def upload(
    archives: tuple[Path, ...], endpoint: str, bucket: str, prefix: str, target: str, allow_random: bool
) -> None:
    """Check archives and copy them to S3, each under a name that tells its content.

    Without ARCHIVES all of dist/TARGET is meant. What is there already is not sent again, nothing is overwritten, and
    a running endpoint over this prefix serves a new archive at once.
    """
    aws = Aws()
    chosen = _choose(archives, target, allow_random)
    click.echo(f"check: {refuse_faulty(chosen, Destination(target))}")
    place = find_place(aws, endpoint, bucket, prefix)
    total = sum(each.size for each in chosen) / 1e6
    click.echo(f"will store {len(chosen)} archives, {total:.1f} MB, in {place.url}")
    click.echo("cost: nothing an hour but S3's storage; S3's price is not known here")
    done = upload_archives(aws, place, chosen, click.echo)
    click.echo(f"uploaded {done} archives" if done else "unchanged, nothing to do")


@click.command("deploy")
@options.archives
@options.endpoint
@options.bucket
@options.prefix
@options.target
@click.option("--role", required=True, envvar="SAGEMAKER_ROLE", show_envvar=True, help="ARN of the execution role.")
@click.option("--instance", help=f"Instance type.  [default: {', '.join(_INSTANCES.values())}, by target]")
@click.option("--count", default=1, show_default=True, type=click.IntRange(1), help="Instances to begin with.")
@click.option("--image", metavar="TAG", help="Release (or tag) of SageMaker's Triton image, such as 24.09.")
@click.option("--image-uri", metavar="URI", help="The whole image, where --image does not know it.")
@click.option("--cache/--no-cache", default=True, show_default=True, help="Keep models loaded between requests.")
@click.option("--env", "environment", multiple=True, metavar="KEY=VALUE", help="For the container; may be repeated.")
@options.allow_random
@options.patience
@click.option("--dry-run", is_flag=True, help="Check and say what it would create and cost, and stop there.")
@options.careful
def deploy(
    archives: tuple[Path, ...],
    endpoint: str,
    bucket: str,
    prefix: str,
    target: str,
    role: str,
    instance: str | None,
    count: int,
    image: str | None,
    image_uri: str | None,
    cache: bool,
    environment: tuple[str, ...],
    allow_random: bool,
    timeout: float,
    dry_run: bool,
) -> None:
    """Create the multi-model endpoint over uploaded archives, or change it where it differs.

    The archives (ARCHIVES, or all of dist/TARGET) are checked for this image on this instance type first. When
    something fails half-way, all that this run has made is removed again.

    Over archives that were all built here, Triton is told not to complete their configs, which are complete: each
    Python step would load a second later. --env SAGEMAKER_TRITON_ADDITIONAL_ARGS=… replaces that.
    """
    aws = Aws()
    place = find_place(aws, endpoint, bucket, prefix)
    instance = instance or _INSTANCES[target]
    chosen = _choose(archives, target, allow_random)
    uri = _image(image, image_uri, target, chosen, aws.region, instance)
    click.echo(f"check: {refuse_faulty(chosen, Destination(target, instance, image_to_check(uri)))}")
    if uri and not image_to_check(uri):
        click.echo(f"note: what is in the image {uri} is not known to check")
    _refuse_missing(aws, place, chosen)
    random = "random" if any(each.weights == "random" for each in chosen) else "pretrained"
    variables = _variables(environment)
    if all(each.weights for each in chosen):  # only the manifests of our builds say where weights come from
        variables = {"SAGEMAKER_TRITON_ADDITIONAL_ARGS": "--disable-auto-complete-config"} | variables
    wish = Wish(endpoint, role, uri, instance, count, place.url, random, cache, variables)
    click.echo(f"will create in {aws.region}, where it is not there yet:")
    click.echo(f"  endpoint {endpoint}: {count} x {instance}, image {uri}")
    click.echo(f"  configuration {wish.config['EndpointConfigName']}, model {wish.model['ModelName']}: {place.url}")
    for key, value in variables.items():
        click.echo(f"  {key}={value}")
    click.echo(cost(hosting_price(aws, instance), instance, count, count))
    if dry_run:
        return
    outcome = deploy_endpoint(aws, wish, click.echo, timeout)
    click.echo(f"{outcome}; undeploy ends the cost")


@click.command("autoscale")
@options.endpoint
@click.option("--metric", type=click.Choice([each.value for each in Metric]), default="invocations", show_default=True)
@click.option(
    "--target-value",
    type=click.FloatRange(0, min_open=True),
    help=f"Percent of the GPU [default: {GPU_TARGET:g}], or invocations a minute an instance.",
)
@click.option("--min", "least", default=1, show_default=True, type=click.IntRange(0), help="Fewest instances.")
@click.option("--max", "most", default=2, show_default=True, type=click.IntRange(1), help="Most instances.")
@click.option(
    "--scale-in-cooldown", default=SCALE_IN_COOLDOWN, show_default=True, type=click.IntRange(0), help="Seconds."
)
@click.option(
    "--scale-out-cooldown", default=SCALE_OUT_COOLDOWN, show_default=True, type=click.IntRange(0), help="Seconds."
)
@options.careful
def autoscale(
    endpoint: str,
    metric: str,
    target_value: float | None,
    least: int,
    most: int,
    scale_in_cooldown: int,
    scale_out_cooldown: int,
) -> None:
    """Let the number of instances follow the load (target tracking).

    gpu keeps GPUUtilization at --target-value percent, invocations keeps SageMakerVariantInvocationsPerInstance at so
    many a minute. How many one instance can take is yours to measure (make perf), so there is no default for it.
    """
    if least > most:
        raise click.UsageError(f"--min {least} is more than --max {most}")
    if target_value is None:
        if metric != Metric.GPU:
            raise click.UsageError("--metric invocations needs --target-value: invocations a minute for each instance")
        target_value = GPU_TARGET
    aws = Aws()
    scaling = Scaling(Metric(metric), target_value, least, most, scale_in_cooldown, scale_out_cooldown)
    click.echo(f"will register {endpoint} for auto scaling: {scaling}")
    click.echo("  and AWS will make two CloudWatch alarms for it")
    instance = instance_of_endpoint(aws, endpoint)
    click.echo(cost(hosting_price(aws, instance), instance, least, most))
    autoscale_endpoint(aws, endpoint, scaling, click.echo)


@click.command("status")
@options.endpoint
@click.pass_context
def status(context: click.Context, endpoint: str) -> None:
    """Show the endpoint: state, reason, instances, cost, image, archives, scaling. Exits 1 unless it is in service."""
    in_service, lines = status_of(Aws(), endpoint)
    click.echo("\n".join(lines))
    context.exit(0 if in_service else 1)


@click.command("undeploy")
@options.endpoint
@options.bucket
@options.prefix
@click.option("--keep-archives", is_flag=True, help="Leave the archives in S3.")
@options.patience
@options.careful
def undeploy(endpoint: str, bucket: str, prefix: str, keep_archives: bool, timeout: float) -> None:
    """Delete all that these commands made: scaling, endpoint, configurations, models, archives, the bucket.

    What this tool did not make (it has no tag of ours) is left alone. Nothing to delete is no error.
    """
    aws = Aws()
    place = None if keep_archives else find_place(aws, endpoint, bucket, prefix)
    removed = undeploy_endpoint(aws, endpoint, place, click.echo, timeout)
    click.echo(f"removed {removed} things" if removed else "nothing to remove")


def _choose(paths: Sequence[Path], target: str, allow_random: bool) -> list[Archive]:
    chosen = [read_archive(path) for path in paths] or find_archives(DIST / target)
    for name in refuse_random(chosen, allowed=allow_random):
        line = f"!!! {name} HAS RANDOM WEIGHTS: what it answers means nothing. !!!"
        click.secho(line, fg="red", bold=True, err=True)
    return chosen


def _image(
    tag: str | None, uri: str | None, target: str, archives: Sequence[Archive], region: str, instance: str
) -> str:
    if tag and uri:
        raise click.UsageError("--image and --image-uri say the same thing: give one")
    if uri:
        return uri
    if tag:
        return image_uri(tag, region, instance)
    built_for = {each.image for each in archives if each.image}
    if len(built_for) > 1:
        raise EnsembleError(
            f"these archives were built for different images: {', '.join(sorted(built_for))}",
            cure="build them all for one, or say --image",
        )
    return default_image(target, next(iter(built_for), ""), region, instance)


def _refuse_missing(aws: Aws, place: Place, archives: Sequence[Archive]) -> None:
    with doing(f"looking into {place.url}"):
        missing = [each.key for each in archives if not is_uploaded(aws, place, each)]
        if missing:
            raise EnsembleError(f"{place.url} does not have {' nor '.join(missing)}", cure="upload first")
        others = len([each for each in stored(aws, place) if each.key not in {known.key for known in archives}])
    if others:
        click.echo(f"note: {others} more archives are under {place.url}; they are served too and not checked here")


def _variables(written: Sequence[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in written]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise click.UsageError(f"--env takes KEY=VALUE, not '{key}'")
    return {key: value for key, _, value in pairs}
