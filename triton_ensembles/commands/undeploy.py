"""The command ``undeploy``."""

import click

from triton_ensembles.commands.common import options, output
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.bucket import archive_prefix
from triton_ensembles.deploy.removal import undeploy_endpoint


@click.command("undeploy")
@options.endpoint
@options.bucket
@options.prefix
@click.option("--keep-archives", is_flag=True, help="Leave the archives in S3.")
@options.timeout
@output.quiet
def undeploy(endpoint: str, bucket: str | None, prefix: str | None, keep_archives: bool, timeout: float) -> None:
    """Delete all that these commands created: scaling, endpoint, configurations, models, archives and the bucket.

    Resources without this tool's tag are left alone. It is not an error when there is nothing to delete.
    """
    aws = Aws()
    place = None if keep_archives else archive_prefix(aws, endpoint, bucket, prefix)
    deleted = undeploy_endpoint(aws, endpoint, place, output.progress(), timeout)
    click.echo(f"resources deleted: {deleted}" if deleted else "nothing to delete")
