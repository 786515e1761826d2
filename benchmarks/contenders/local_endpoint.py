"""Archives behind the local endpoint, in service."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from triton_ensembles.deploy.image import PIP_SERVER
from triton_ensembles.deploy.rehearsal import create_endpoint
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.triton.sagemaker_variables import ADDITIONAL_ARGS

NAME = "benchmark"


@contextmanager
def running_endpoint(
    folder: Path, archives: Iterable[Path], *arguments: str, flags: str = ""
) -> Iterator[LocalEndpoint]:
    """A multi-model endpoint of one instance with these archives, in service.

    Args:
        folder: its working folder.
        archives: each is uploaded before the next one is taken.
        arguments: of the command ``endpoint``, such as its budgets.
        flags: of tritonserver.
    """
    # SageMaker's default is a line in the log for each step of each request; production switches it off.
    variables = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false"} | ({ADDITIONAL_ARGS: flags} if flags else {})
    with LocalEndpoint(folder / "root", *arguments) as local:
        create_endpoint(local, NAME, ((path.name, path) for path in archives), PIP_SERVER, variables)
        yield local
