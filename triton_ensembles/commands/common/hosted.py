"""The archives that ``endpoint`` begins with, from the arguments of the command line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from triton_ensembles.archive.manifest import one_python
from triton_ensembles.building.build import build
from triton_ensembles.building.places import Places, Weights
from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.checking.sagemaker import served_models
from triton_ensembles.commands.common import output
from triton_ensembles.commands.common.arguments import Chosen
from triton_ensembles.commands.common.builds import serve_all
from triton_ensembles.deploy.rehearsal import ENDPOINT, Clients, Containers, create_endpoint, image_for, invocation
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.server.home import Installation
from triton_ensembles.server.installed import image_of_server
from triton_ensembles.serving.served import Served, as_written
from triton_ensembles.triton.destination import Destination, SingleModel
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, read_config
from triton_ensembles.triton.sagemaker_variables import ADDITIONAL_ARGS
from triton_ensembles.triton.targets import CPU, Target


@dataclass(frozen=True)
class Hosted:
    """The archives of one endpoint, and what is in each, by TargetModel; and the containers that serve them."""

    archives: Mapping[str, Path]
    served: Mapping[str, Served]
    containers: Containers

    def create(self, clients: Clients) -> None:
        """Create an endpoint over them, and print how boto3 calls each."""
        create_endpoint(clients, ENDPOINT, self.archives.items(), self.containers)
        click.echo(f"\nthe endpoint {ENDPOINT} is in service; with these variables, Python calls it:\n")
        click.echo('import boto3, json\nruntime = boto3.client("sagemaker-runtime")')
        single = self.containers.single
        for target_model, source in self.served.items():
            click.echo(invocation("" if single else target_model, _config(source, single)))


def hosted_of(selected: Chosen, scratch: Path, target: Target = CPU, server: Installation | None = None) -> Hosted:
    """The archives of what is chosen: ensembles are built, repositories packed, archives taken as they are.

    Raises:
        EnsembleError: one cannot be built, ``check`` finds errors in one, two have one name, or they need different
            Pythons.
    """
    sources: dict[str, Served] = {}
    for source in serve_all(selected, Weights(), target, scratch, server):
        target_model = f"{source.name}.tar.gz"
        if target_model in sources:
            both = f"{shown(sources[target_model].path)} and {shown(source.path)}"
            raise EnsembleError(f"{both} would both be {target_model}", cure="rename one")
        sources[target_model] = source
    archives = {target_model: _archive_of(source, scratch) for target_model, source in sources.items()}
    python = one_python({source.name: source.python for source in sources.values()})
    release = image_of_server(server)
    image = f"sagemaker-tritonserver:{release}-py3-cpu" if release else image_for(python)
    is_complete = all(source.is_complete for source in sources.values())
    variables = {ADDITIONAL_ARGS: "--disable-auto-complete-config"} if is_complete else {}
    return Hosted(archives, sources, Containers(image, variables, target.single))


def _archive_of(source: Served, scratch: Path) -> Path:
    """Return what was built, what was named, or the repository packed as it is."""
    archive = source.path if source.path.is_file() else source.archive
    return archive or build(as_written(source, Places(scratch, scratch / "build", scratch)), output.progress()).archive


def _config(source: Served, single: bool) -> ModelConfig:
    """The config of the model that SageMaker's container serves: the ensemble, if there is one."""
    tops = source.tops
    if single:
        alone = Destination(single=SingleModel())
        tops = tuple(top.folder for read in find_repositories(source.repository) for top in served_models(read, alone))
    configs = [path for top in tops if (path := source.repository / top / CONFIG).is_file()]
    read = [read_config(path) for path in configs]
    return next((config for config in read if config.platform == "ensemble"), read[0] if read else ModelConfig())
