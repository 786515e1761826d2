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
    """Archives of one multi-model endpoint.

    Attributes:
        archives: by TargetModel.
        configs: that of the model that answers, by TargetModel.
        image: of the container.
        single: whether it is for a single-model endpoint instead.
        served: what is in the archives, by TargetModel.
        completes: whether Triton completes configs.
    """

    archives: Mapping[str, Path]
    configs: Mapping[str, ModelConfig]
    image: str
    single: bool
    served: Mapping[str, Served]
    completes: bool

    def create(self, clients: Clients) -> None:
        """Create an endpoint over them, and print how boto3 calls each."""
        variables = {} if self.completes else {ADDITIONAL_ARGS: "--disable-auto-complete-config"}
        create_endpoint(clients, ENDPOINT, self.archives.items(), Containers(self.image, variables, self.single))
        click.echo(f"\nthe endpoint {ENDPOINT} is in service; with these variables, Python calls it:\n")
        click.echo('import boto3, json\nruntime = boto3.client("sagemaker-runtime")')
        for target_model, config in self.configs.items():
            click.echo(invocation("" if self.single else target_model, config))


def hosted_of(selected: Chosen, scratch: Path, target: Target = CPU, server: Installation | None = None) -> Hosted:
    """The archives of what is chosen: ensembles are built, repositories packed, archives taken as they are.

    Raises:
        EnsembleError: one cannot be built, ``check`` finds errors in one, two have one name, or they need different
            Pythons.
    """
    hosted: dict[str, tuple[Served, Path]] = {}
    for source in serve_all(selected, Weights(), target, scratch, server):
        target_model = f"{source.name}.tar.gz"
        if target_model in hosted:
            clash = hosted[target_model][0].path
            raise EnsembleError(
                f"{shown(clash)} and {shown(source.path)} would both be {target_model}", cure="rename one"
            )
        hosted[target_model] = source, _archive_of(source, scratch)
    python = one_python({source.name: source.python for source, _ in hosted.values()})
    release = image_of_server(server)
    return Hosted(
        archives={name: archive for name, (_, archive) in hosted.items()},
        configs={name: _config(source, target.single) for name, (source, _) in hosted.items()},
        image=f"sagemaker-tritonserver:{release}-py3-cpu" if release else image_for(python),
        single=target.single,
        served={name: source for name, (source, _) in hosted.items()},
        completes=not all(source.is_complete for source, _ in hosted.values()),
    )


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
