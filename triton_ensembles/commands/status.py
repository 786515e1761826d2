"""The command ``status``."""

import click

from triton_ensembles.commands.common import endpoint_options, output
from triton_ensembles.deploy.aws import Aws
from triton_ensembles.deploy.status import endpoint_status


@click.command("status")
@endpoint_options.name
@output.json_format
@click.pass_context
def status(context: click.Context, endpoint: str) -> None:
    """Show an endpoint's state, reason of failure, instances, cost, image, archives and scaling policies.

    The exit code is 0 when the endpoint is in service, and 1 otherwise.

    --format json: {"endpoint": name, "in_service": true or false, "lines": [what is printed as text]}
    """
    in_service, lines = endpoint_status(Aws(), endpoint)
    output.document({"endpoint": endpoint, "in_service": in_service, "lines": lines})
    output.result("\n".join(lines))
    context.exit(0 if in_service else 1)
