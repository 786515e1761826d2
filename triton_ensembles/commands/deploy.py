"""The command ``deploy``. Boto3 follows AWS_ENDPOINT_URL, so it works with the local endpoint as with AWS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import click

from triton_ensembles.checking.single_model import named_in, single_model
from triton_ensembles.commands.common import endpoint_options, options, output
from triton_ensembles.commands.common.option_rules import excludes
from triton_ensembles.deploy.archives import Archive, refuse_faulty
from triton_ensembles.deploy.aws import Aws, aws_errors
from triton_ensembles.deploy.bucket import S3Prefix
from triton_ensembles.deploy.deployment import deploy_endpoint
from triton_ensembles.deploy.desired_endpoint import DesiredEndpoint
from triton_ensembles.deploy.image import PIP_SERVER, image_uri
from triton_ensembles.deploy.placement import INSTANCES, chosen_image, chosen_instance, refuse_own_server
from triton_ensembles.deploy.price import cost, known_price
from triton_ensembles.deploy.stored import stored_archives
from triton_ensembles.deploy.uploads import missing_archives
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.sagemaker_variables import (
    ADDITIONAL_ARGS,
    ALLOW_METRICS,
    LOG_GROUP,
    METRIC_NAMESPACE,
    PUBLISH_METRICS,
    is_known,
    variable_faults,
)
from triton_ensembles.triton.sagemaker_variables import variables as sagemaker_variables

_METRICS_NEED = (
    "for --metrics the role needs cloudwatch:PutMetricData, logs:CreateLogGroup, logs:CreateLogStream, "
    "logs:DescribeLogStreams and logs:PutLogEvents (AmazonSageMakerFullAccess has them)"
)


@dataclass(frozen=True)
class Host:
    """The hosts of the endpoint: the values of --role, --instance, --count, --image and --image-uri."""

    role: str = options.option(
        "--role", required=True, envvar="SAGEMAKER_ROLE", show_envvar=True, help="ARN of the execution role."
    )
    instance: str | None = options.option(
        "--instance",
        cls=options.Setting,
        metavar="TYPE",
        type=options.INSTANCE,
        help="Instance type.  [default: that which the archives were built for; or else that of "
        "[tool.triton-ensembles]; or else, by target: "
        f"{', '.join(f'{target} {instance}' for target, instance in INSTANCES.items())}]",
    )
    count: int = options.option("--count", default=1, type=click.IntRange(1), help="Instances to start with.")
    image: str | None = options.option(
        "--image",
        cls=options.Setting,
        metavar="TAG",
        type=options.IMAGE,
        help="Release (or tag) of SageMaker's Triton image, such as 24.09.  [default: that which the archives were "
        "built for, or else that of [tool.triton-ensembles]; its -cpu form for an instance type without a GPU]",
    )
    image_uri: str | None = options.option(
        "--image-uri", metavar="URI", help="The complete URI of an image that --image does not know."
    )

    def image_and_destination(self, archives: Sequence[Archive], target: str, aws: Aws) -> tuple[str, Destination]:
        """Return the image's URI and where the archives will run: of the options, of the archives, of the project, or
        of the target. Raises :class:`EnsembleError`: the archives differ, or AWS has no image for them."""
        instance = self.instance or ""
        if not instance or options.is_of_project("instance"):
            instance = chosen_instance(archives, target, instance)
        if self.image_uri:
            uri = self.image_uri
        elif self.image and not options.is_of_project("image"):
            uri = image_uri(self.image, aws.region, instance)
        else:
            uri = chosen_image(archives, target, aws.region, instance, self.image or "")
        if uri == PIP_SERVER and aws.is_amazon:
            refuse_own_server(archives)
        return uri, Destination(target, instance, "" if uri == PIP_SERVER else uri)


@dataclass(frozen=True)
class Container:
    """The values of --cache, --env and --metrics."""

    cache: bool = options.option("--cache/--no-cache", default=True, help="Keep models loaded between requests.")
    environment: tuple[str, ...] = options.option(
        "--env", multiple=True, metavar="KEY=VALUE", help="A container variable; repeatable."
    )
    namespace: str | None = options.option(
        "--metrics",
        metavar="[NAMESPACE]",
        is_flag=False,
        flag_value="triton-ensembles",
        help="Have the container publish Triton's metrics to CloudWatch, in this namespace.  "
        "[default: triton-ensembles]",
    )

    def variables(self, endpoint: str) -> dict[str, str]:
        """Return its variables. For metrics, they are those of AWS's guide, "Publishing Triton metrics to
        CloudWatch"."""
        metrics = {}
        if self.namespace is not None:
            metrics = {ALLOW_METRICS: "true", PUBLISH_METRICS: "true", METRIC_NAMESPACE: self.namespace}
            metrics[LOG_GROUP] = f"/aws/sagemaker/Endpoints/{endpoint}"
        pairs = [setting.partition("=") for setting in self.environment]
        for key, equals, _ in pairs:
            if not key or not equals:
                raise click.UsageError(f"--env takes KEY=VALUE, not '{key}'")
        return metrics | {key: value for key, _, value in pairs}


@click.command("deploy")
@excludes("--single", "--no-cache", because="that is for multi-model endpoints")
@excludes("--image", "--image-uri", because="both choose the image")
@options.group("sent", endpoint_options.Sent)
@options.group("place", endpoint_options.Place)
@options.group("host", Host)
@options.group("container", Container)
@endpoint_options.timeout
@output.quiet
@click.option("--dry-run", is_flag=True, help="Check, show what would be created and what it costs, and stop.")
def deploy(
    sent: endpoint_options.Sent,
    place: endpoint_options.Place,
    host: Host,
    container: Container,
    timeout: float,
    dry_run: bool,
) -> None:
    """Create an endpoint over uploaded archives, or update it where it differs.

    It is a multi-model endpoint, or with --single one that serves the ensemble of a single archive, and takes what a
    multi-model endpoint does not: several ensembles, of which one is served, and models that call others.

    The archives (files, names of ensembles for those in dist/TARGET, or else all of the project's there) are first
    checked for this image and instance type. They say themselves which target, image and instance type they were built
    for. After a failure, all that this run has created is deleted again.

    If all archives were built by this tool, Triton is told not to complete their configs, which are complete: without
    that, each Python step takes a second longer to load. Override it with --env SAGEMAKER_TRITON_ADDITIONAL_ARGS=….
    """
    chosen, aws = sent.read(), Aws()
    folder = place.in_s3(aws)
    only = sent.only_of(chosen) if sent.single else None
    variables = container.variables(place.endpoint)
    uri, destination = host.image_and_destination(chosen, sent.target_of(chosen), aws)
    if only:
        destination = replace(destination, single=single_model(variables))
    _refuse_variables(variables, destination)
    _check(chosen, destination)
    _refuse_missing(aws, folder, chosen, alone=sent.single)
    if container.namespace is not None:
        click.echo(f"note: {_METRICS_NEED}")
    variables = _with_flags(variables, chosen, destination)
    url, instance = f"{folder.url}{only.key if only else ''}", destination.instance
    desired = DesiredEndpoint(place.endpoint, host.role, uri, instance, host.count, url, container.cache, variables)
    _announce(desired, aws)
    if not dry_run:
        outcome = deploy_endpoint(aws, desired, output.progress(), timeout)
        click.echo(f"{outcome}; run undeploy to stop the cost")


def _check(archives: Sequence[Archive], destination: Destination) -> None:
    click.echo(f"check: {refuse_faulty(archives, destination)}")
    if destination.image and not destination.image_names_release:
        unknown = f"the image {destination.image} names no release"
        click.echo(f"note: {unknown}, so the archives were not checked against its content")


def _with_flags(variables: dict[str, str], archives: Sequence[Archive], destination: Destination) -> dict[str, str]:
    """Return ``variables`` with what Triton is told of the archives."""
    # Only the manifests of our builds say where weights come from.
    if all(archive.weights for archive in archives) and is_known(ADDITIONAL_ARGS, destination.release):
        variables = {ADDITIONAL_ARGS: "--disable-auto-complete-config"} | variables
    return named_in(variables, archives[0].repository, destination) if destination.single else variables


def _announce(desired: DesiredEndpoint, aws: Aws) -> None:
    click.echo(f"will create in {aws.region}, unless it exists already:")
    click.echo(f"  endpoint {desired.name}: {desired.count} x {desired.instance}, image {desired.image}")
    click.echo(f"  configuration {desired.config_name}, model {desired.model_name}: {desired.url}")
    for key, value in desired.environment.items():
        click.echo(f"  {key}={value}")
    click.echo(cost(known_price(aws, desired.instance), desired.instance, desired.count, desired.count))


def _refuse_variables(variables: Mapping[str, str], destination: Destination) -> None:
    """Refuse what the image's container would silently ignore, or what SageMaker sets."""
    own_image = bool(destination.image) and not destination.is_of_nvidia  # it may read variables of its own
    for fault in () if own_image else variable_faults(variables, destination.release):
        raise fault
    for name in variables:
        if (known := sagemaker_variables().get(name)) and known.platform:
            raise EnsembleError(f"SageMaker sets {name}", cure="leave it out; --single chooses a single-model endpoint")


def _refuse_missing(aws: Aws, place: S3Prefix, archives: Sequence[Archive], *, alone: bool) -> None:
    if missing := missing_archives(aws, place, archives, lambda _: None):
        cure = f"run upload{' --single' if alone else ''} first"
        raise EnsembleError(f"{place.url} does not contain {', '.join(each.key for each in missing)}", cure=cure)
    with aws_errors(f"list {place.url}"):
        unchecked = len(stored_archives(aws, place).keys() - {archive.key for archive in archives})
    if unchecked and not alone:
        click.echo(f"note: other archives under {place.url}, served too and not checked now: {unchecked}")
