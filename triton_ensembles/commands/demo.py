"""``demo``"""

import click
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from triton_ensembles.building.places import Weights
from triton_ensembles.commands.common import options, output
from triton_ensembles.commands.common.builds import build_all, requests_for, server_for
from triton_ensembles.commands.common.output import warn_of_random_weights
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.project.examples.answer import answer_lines
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.project.examples.place import examples_folder
from triton_ensembles.project.examples.request import Request
from triton_ensembles.server.clients import http_client
from triton_ensembles.server.server_command import Reach
from triton_ensembles.serving.served import of_built


@click.command()
@options.names
@options.with_weights
@options.for_target
@output.quiet
def demo(names: tuple[str, ...], weights: Weights, chosen_target: options.BuildTarget) -> None:
    """Build, serve on free ports, send the example requests of each ensemble, print the answers, stop."""
    built = build_all(requests_for(names, weights, chosen_target.served_here()))
    ensembles = options.current_places().ensembles
    examples = {ensemble.name: read_examples(ensembles / ensemble.name) for ensemble in built}
    with (
        server_for([of_built(ensemble, ensembles / ensemble.name) for ensemble in built], reach=Reach.SECRET) as server,
        http_client(server) as client,
    ):
        for ensemble in built:
            click.secho(f"\n{ensemble.name}", bold=True)
            if not examples[ensemble.name].requests:
                click.echo(f"there are no example requests in {shown(examples_folder(ensembles / ensemble.name))}")
            for request in examples[ensemble.name].requests:
                click.echo(request.label)
                for line in _ask(client, ensemble.name, request):
                    click.echo(f"  {line}")
            warn_of_random_weights(ensemble.name, random=ensemble.random)


def _ask(client: http.InferenceServerClient, ensemble: str, request: Request) -> list[str]:
    try:
        result = client.infer(ensemble, request.infer_inputs(), outputs=request.requested_outputs())
    except InferenceServerException as error:
        raise EnsembleError(f"{ensemble} refuses this request: {error.message()}", path=request.path) from error
    return answer_lines(result, request)
