"""The command ``undeploy``."""

import click

from triton_ensembles.commands.common import endpoint_options, options, output
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.removal import undeploy_endpoint


@click.command("undeploy")
@options.group("place", endpoint_options.Place)
@click.option("--keep-archives", is_flag=True, help="Leave the archives in S3.")
@endpoint_options.timeout
@output.quiet
def undeploy(place: endpoint_options.Place, keep_archives: bool, timeout: float) -> None:
    """Delete all that these commands created: scaling, endpoint, configurations, models, archives and the bucket.

    Resources without this tool's tag are left alone. It is not an error when there is nothing to delete.
    """
    aws = Aws()
    archives = None if keep_archives else place.in_s3(aws)
    deleted = undeploy_endpoint(aws, place.endpoint, archives, output.progress(), timeout)
    click.echo(f"resources deleted: {deleted}" if deleted else "nothing to delete")
