"""``graph``: the DAG of an ensemble as a drawing."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from triton_ensembles.check.repository import Repository, find_repositories
from triton_ensembles.commands.project import current_places
from triton_ensembles.errors import EnsembleError
from triton_ensembles.graph.dag import Graph, graph_of
from triton_ensembles.graph.mermaid import mermaid

FORMATS = ("mermaid", "svg", "png")
_SUFFIXES = {".svg": "svg", ".png": "png"}


@click.command("graph")
@click.argument("name")
@click.option(
    "--format", "style", type=click.Choice(FORMATS), help="By default what the name of FILE says, or mermaid."
)
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write to FILE.")
def graph(name: str, style: str | None, file: Path | None) -> None:
    """Draw the DAG of an ensemble: steps, tensors, data types, dims and batching.

    NAME is a folder of ensembles/, or the path of any Triton model repository or .tar.gz.

    \b
      graph bert_trt                   mermaid, for a README
      graph bert_trt -o bert_trt.svg   a picture
      graph dist/gpu/bert_trt.tar.gz   what an archive really holds
    """
    style = style or _SUFFIXES.get(file.suffix.lower() if file else "", "mermaid")
    found = read_graph(name, current_places().ensembles)
    data = mermaid(found).encode() if style == "mermaid" else _picture(found, style)
    if file:
        _write(file, data)
        click.echo(f"wrote {file}")
    elif style == "png" and sys.stdout.isatty():
        raise click.UsageError("a PNG is no text for a terminal: name a file with -o")
    else:
        click.echo(data, nl=False)


def _picture(found: Graph, style: str) -> bytes:
    from triton_ensembles.graph.picture import picture  # matplotlib takes a second to load

    return picture(found, style)


def read_graph(name: str, ensembles: Path) -> Graph:
    """The graph of the ensemble called ``name`` in ``ensembles``, or of the one at the path ``name``."""
    path = ensembles / name if (ensembles / name).is_dir() else Path(name)
    if not path.exists():
        known = ", ".join(sorted(child.name for child in ensembles.glob("*/") if not child.name.startswith((".", "_"))))
        raise EnsembleError(f"there is no ensemble '{name}'", cure=f"name one of {known}, or a path")
    drawn = [drawing for repository in find_repositories(path) for drawing in _graphs(repository)]
    if len(drawn) != 1:
        names = ", ".join(each.name for each in drawn)
        message = f"there are {len(drawn)} ensembles here: {names}" if drawn else "there is no ensemble here"
        raise EnsembleError(message, path=path, cure="name the repository of one ensemble")
    return drawn[0]


def _graphs(repository: Repository) -> list[Graph]:
    """One for each ensemble that is no step of another one."""
    configs = {model.folder: model.config for model in repository.models if model.has_config}
    inner = {step.model_name for config in configs.values() for step in config.ensemble_scheduling.step}
    title = repository.path.name
    return [
        graph_of(title if len(repository.ensembles) == 1 else model.folder, model.config, configs)
        for model in repository.ensembles
        if model.folder not in inner
    ]


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as temporary:
        temporary.write(data)
    Path(temporary.name).chmod(0o644)
    Path(temporary.name).replace(file)
