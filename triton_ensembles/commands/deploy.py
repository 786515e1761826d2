"""The command ``deploy``. Boto3 follows AWS_ENDPOINT_URL, so it works with the local endpoint as with AWS."""

from collections.abc import Sequence
from pathlib import Path

import click

from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.archives import chosen_archives
from triton_ensembles.deploy.archives import Archive, common_weights, refuse_faulty
from triton_ensembles.deploy.aws import Aws, aws_errors
from triton_ensembles.deploy.bucket import S3Prefix, archive_prefix
from triton_ensembles.deploy.deployment import deploy_endpoint
from triton_ensembles.deploy.desired_endpoint import DesiredEndpoint
from triton_ensembles.deploy.image import PIP_SERVER, image_uri
from triton_ensembles.deploy.placement import DEFAULTS, chosen_image, chosen_instance, common_target, refuse_own_server
from triton_ensembles.deploy.price import cost, hosting_price
from triton_ensembles.deploy.stored import stored_archives, uploaded_etag
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination


@click.command("deploy")
@options.archives
@options.endpoint
@options.bucket
@options.prefix
@options.archive_target
@click.option("--role", required=True, envvar="SAGEMAKER_ROLE", show_envvar=True, help="ARN of the execution role.")
@click.option(
    "--instance",
    cls=options.Setting,
    metavar="TYPE",
    type=options.INSTANCE,
    help="Instance type.  [default: that which the archives were built for; or else that of [tool.triton-ensembles]; "
    "or else, by target: "
    f"{', '.join(f'{target} {default.instance}' for target, default in DEFAULTS.items())}]",
)
@click.option("--count", default=1, type=click.IntRange(1), help="Instances to start with.")
@click.option(
    "--image",
    cls=options.Setting,
    metavar="TAG",
    type=options.IMAGE,
    help="Release (or tag) of SageMaker's Triton image, such as 24.09.  [default: that which the archives were built "
    "for, or else that of [tool.triton-ensembles]; its -cpu form for an instance type without a GPU]",
)
@click.option("--image-uri", metavar="URI", help="The complete URI of an image that --image does not know.")
@click.option("--cache/--no-cache", default=True, help="Keep models loaded between requests.")
@click.option(
    "--env", "environment", multiple=True, metavar="KEY=VALUE", help="Variable of the container; may be repeated."
)
@options.allow_random
@options.timeout
@output.quiet
@click.option("--dry-run", is_flag=True, help="Check, show what would be created and what it costs, and stop.")
def deploy(
    archives: tuple[Path, ...],
    endpoint: str,
    bucket: str | None,
    prefix: str | None,
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
    """Create a multi-model endpoint over uploaded archives, or update it where it differs.

    The archives (ARCHIVES, or those in dist/TARGET of the project's ensembles) are first checked for this image and
    instance type. They say themselves which target, image and instance type they were built for. After a failure, all
    that this run has created is deleted again.

    If all archives were built by this tool, Triton is told not to complete their configs, which are complete: without
    that, each Python step takes a second longer to load. Override it with --env SAGEMAKER_TRITON_ADDITIONAL_ARGS=….
    """
    aws = Aws()
    place = archive_prefix(aws, endpoint, bucket, prefix)
    chosen = chosen_archives(archives, target, allow_random=allow_random)
    target = common_target(chosen, target)
    if not instance or options.is_of_project("instance"):
        instance = chosen_instance(chosen, target, instance or "")
    uri = _chosen_image(image, image_uri, target, chosen, aws.region, instance)
    if uri == PIP_SERVER and aws.is_amazon:
        refuse_own_server(chosen)
    destination = Destination(target, instance, "" if uri == PIP_SERVER else uri)
    click.echo(f"check: {refuse_faulty(chosen, destination)}")
    if uri != PIP_SERVER and not destination.image_names_release:
        click.echo(f"note: the image {uri} names no release, so the archives were not checked against its content")
    _refuse_missing(aws, place, chosen)
    variables = _variables(environment)
    if all(archive.weights for archive in chosen):  # only the manifests of our builds say where weights come from
        variables = {"SAGEMAKER_TRITON_ADDITIONAL_ARGS": "--disable-auto-complete-config"} | variables
    desired = DesiredEndpoint(endpoint, role, uri, instance, count, place.url, common_weights(chosen), cache, variables)
    click.echo(f"will create in {aws.region}, unless it exists already:")
    click.echo(f"  endpoint {endpoint}: {count} x {instance}, image {uri}")
    click.echo(f"  configuration {desired.config_name}, model {desired.model_name}: {place.url}")
    for key, value in variables.items():
        click.echo(f"  {key}={value}")
    click.echo(cost(hosting_price(aws, instance), instance, count, count))
    if dry_run:
        return
    outcome = deploy_endpoint(aws, desired, output.progress(), timeout)
    click.echo(f"{outcome}; run undeploy to stop the cost")


def _chosen_image(
    tag: str | None, uri: str | None, target: str, archives: Sequence[Archive], region: str, instance: str
) -> str:
    default = tag if tag and options.is_of_project("image") else ""
    if tag and uri and not default:
        raise click.UsageError("--image and --image-uri both choose the image: give only one of them")
    if uri:
        return uri
    if tag and not default:
        return image_uri(tag, region, instance)
    return chosen_image(archives, target, region, instance, default)


def _refuse_missing(aws: Aws, place: S3Prefix, archives: Sequence[Archive]) -> None:
    with aws_errors(f"list {place.url}"):
        missing = [archive.key for archive in archives if uploaded_etag(aws, place, archive) is None]
        if missing:
            raise EnsembleError(f"{place.url} does not contain {', '.join(missing)}", cure="run upload first")
        unchecked = len(stored_archives(aws, place).keys() - {archive.key for archive in archives})
    if unchecked:
        click.echo(f"note: other archives under {place.url}, served too and not checked now: {unchecked}")


def _variables(settings: Sequence[str]) -> dict[str, str]:
    pairs = [setting.partition("=") for setting in settings]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise click.UsageError(f"--env takes KEY=VALUE, not '{key}'")
    return {key: value for key, _, value in pairs}
