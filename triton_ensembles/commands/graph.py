"""``graph``"""

import sys
from pathlib import Path

import click

from triton_ensembles.check.repository import Model, Repository, find_repositories
from triton_ensembles.check.text.unknown import UnknownValueError
from triton_ensembles.commands import options
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.files import write_whole
from triton_ensembles.fused.plan import DIGEST, PLAN
from triton_ensembles.graph.dag import Graph, graph_of
from triton_ensembles.graph.fused import graph_of_plan
from triton_ensembles.graph.mermaid import mermaid
from triton_ensembles.paths import COMMAND
from triton_ensembles.spelling import most_of

_FORMATS = {".mmd": "mermaid", ".svg": "svg", ".png": "png", ".pdf": "pdf"}


@click.command("graph")
@click.argument("name")
@click.option(
    "--format", "style", type=click.Choice(list(_FORMATS.values())), help="Default: the suffix of FILE, or mermaid."
)
@click.option("-o", "--output", "file", type=options.NEW_FILE, help="Write to FILE: .mmd, .svg, .png or .pdf.")
def graph(name: str, style: str | None, file: Path | None) -> None:
    """Draw the DAG of an ensemble: steps, tensors, data types, dims and batching.

    NAME is a folder of ensembles/, or the path of any Triton model repository or .tar.gz.

    \b
      graph bert_trt                   mermaid, for a README
      graph bert_trt -o bert_trt.svg   a picture
      graph dist/gpu/bert_trt.tar.gz   what is in an archive, a fused one too
    """
    style = style or _format_of(file)
    places = options.places_if_any()
    found = read_graph(name, places.ensembles if places else None)
    if style == "mermaid":
        data = mermaid(found).encode()
    else:
        from triton_ensembles.graph.picture import picture  # matplotlib takes a second to load

        data = picture(found, style)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        with write_whole(file) as partial:
            partial.write_bytes(data)
        click.echo(f"wrote {shown(file)}")
    elif style in ("png", "pdf") and sys.stdout.isatty():
        raise click.UsageError(f"a {style.upper()} cannot be printed on a terminal: name a file with -o")
    else:
        click.echo(data, nl=False)


def _format_of(file: Path | None) -> str:
    if file is None:
        return "mermaid"
    if file.suffix.lower() not in _FORMATS:
        raise click.UsageError(
            f"'{file}' has none of the suffixes {', '.join(_FORMATS)}: rename it, or choose a --format"
        )
    return _FORMATS[file.suffix.lower()]


def _path_of(name: str, ensembles: Path | None) -> Path:
    if ensembles and (ensembles / name).is_dir():
        return ensembles / name
    if Path(name).exists():
        return Path(name)
    if ensembles is None:
        message = f"there is no path '{name}', and no project whose ensemble it could be"
        raise EnsembleError(message, cure="name a model repository or an archive, or a project by --project DIR")
    folders = sorted(child.name for child in ensembles.glob("*/") if not child.name.startswith((".", "_")))
    raise EnsembleError(f"there is no ensemble '{name}'", cure=f"name one of {', '.join(folders)}, or a path")


def read_graph(name: str, ensembles: Path | None) -> Graph:
    """The graph of the ensemble called ``name`` in ``ensembles``, or of the one at the path ``name``."""
    path = _path_of(name, ensembles)
    try:
        repositories = list(find_repositories(path))
        drawn = [drawing for repository in repositories for drawing in _graphs(repository)]
    except UnknownValueError:
        message = "this cannot be drawn, because a part of it cannot be read"
        raise EnsembleError(message, path=path, cure=f"fix what this reports: {COMMAND} check {name}") from None
    if not drawn and any(repository.ensembles for repository in repositories):
        message = "each ensemble here is a step of another one, so that none of them can run"
        raise EnsembleError(message, path=path, cure=f"fix what this reports: {COMMAND} check {name}")
    if len(drawn) != 1:
        names = most_of(each.name for each in drawn) if drawn else ""
        message = f"there are {len(drawn)} ensembles here: {names}" if drawn else "there is no ensemble here"
        raise EnsembleError(message, path=path, cure="name the repository of one ensemble")
    return drawn[0]


def _graphs(repository: Repository) -> list[Graph]:
    """One for each ensemble that is not a step of another one, and for each fused ensemble."""
    configs = {model.folder: model.written for model in repository.models if model.has_config}
    inner = {step.model_name for config in configs.values() for step in config.ensemble_scheduling.step}
    title = repository.path.name
    fused = [graph_of_plan(model.folder, model.written, plan) for model in repository.models if (plan := _plan(model))]
    return fused + [
        graph_of(title if len(repository.ensembles) == 1 else model.folder, model.written, configs)
        for model in repository.ensembles
        if model.folder not in inner
    ]


def _plan(model: Model) -> str:
    """The plan of a fused ensemble; "" for any other model."""
    if DIGEST not in model.written.parameters:
        return ""
    path = f"{model.versions[max(model.versions)]}/{PLAN}" if model.versions else PLAN
    entry = model.get(path)
    if entry is None or entry.text is None:
        raise EnsembleError(
            f"{PLAN} of this fused ensemble is missing, or too large to be read",
            path=model.repository.path,
            cure=f"draw the ensemble that it was built from: {COMMAND} graph NAME",
        )
    return entry.text
