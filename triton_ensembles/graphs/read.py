"""The graph of an ensemble in a project, a model repository or an archive."""

from pathlib import Path

from triton_ensembles.checking.checker import repositories_at
from triton_ensembles.checking.fused_plan import fused_plan, is_fused
from triton_ensembles.checking.python.model_calls import calls_between, entrances, needed
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.graphs.dag import Graph, graph_of
from triton_ensembles.ground.errors import EnsembleError, UsageError, shown
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.triton.model_config import ModelConfig


def read_graph(path: Path, model: str = "") -> Graph:
    """The graph of the ensemble at ``path``, or of the ``model`` there. Raises :class:`EnsembleError`: there is none,
    or several, or a part of it cannot be read."""
    cure = f"fix what this reports: {COMMAND} check {shown(path)}"
    try:
        repositories = repositories_at([path])
        if repositories[0].is_one_model and repositories[0].ensembles and path.is_dir():  # whose steps are beside it
            return read_graph(path.resolve().parent, path.resolve().name)
        graphs = [drawing for repository in repositories for drawing in _graphs(repository, model)]
    except UnknownValueError:
        message = "this cannot be drawn, because a part of it cannot be read"
        raise EnsembleError(message, path=path, cure=cure) from None
    if not graphs and not model and any(repository.ensembles for repository in repositories):
        message = "each ensemble here is a step of another one, so that none of them can run"
        raise EnsembleError(message, path=path, cure=cure)
    if len(graphs) != 1:
        names = most_of(graph.name for graph in graphs) if graphs else ""
        message = f"there are {len(graphs)} ensembles here: {names}" if graphs else "there is no ensemble here"
        message += f" called {model!r}" if model and not graphs else ""
        raise UsageError(message, path=path, cure=f"choose one: --model {graphs[0].name}" if graphs else "")
    return graphs[0]


def _graphs(repository: Repository, chosen: str) -> list[Graph]:
    """The graph of each ensemble that is not a step of another one, and of each fused one; or of the chosen one."""
    configs = {model.folder: model.written for model in repository.models if model.has_config}
    outer = [model for model in repository.models if model.folder == chosen and needed(model)] or entrances(repository)
    plans = {model.folder: fused_plan(model) for model in repository.models if is_fused(model)}
    fused = [graph_of(name, plan.ensemble, plan.models, plan.calls) for name, plan in plans.items()]
    drawn = {}
    for model in outer:
        config = model.written if model.is_ensemble else _around(model)
        calls = calls_between(repository, {step.model_name for step in config.ensemble_scheduling.step})
        title = repository.path.resolve().name if repository.builds else model.folder
        drawn[model.folder] = graph_of(title, config, configs, calls, model.folder)
    graphs = fused + list(drawn.values())
    return [graph for graph in graphs if not chosen or graph.name == chosen]


def _around(model: Model) -> ModelConfig:
    """An ensemble whose only step is ``model``, which calls others."""
    config = ModelConfig()
    config.CopyFrom(model.written)
    step = config.ensemble_scheduling.step.add(model_name=model.folder)
    for tensors, names in ((config.input, step.input_map), (config.output, step.output_map)):
        names.update((tensor.name, tensor.name) for tensor in tensors)
    return config
