"""The graph of an ensemble in a project, a model repository or an archive."""

from pathlib import Path

from google.protobuf.json_format import ParseDict, ParseError

from triton_ensembles.checking.checker import repositories_at
from triton_ensembles.checking.python.model_calls import calls_between, entrances, needed
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.graphs.dag import Graph, graph_of
from triton_ensembles.ground.errors import EnsembleError, UsageError, shown
from triton_ensembles.ground.files import parse_json
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.runtime.fused.plan import DIGEST, PLAN
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
    fused = [_graph_of_plan(model.folder, model.written, plan) for model in repository.models if (plan := _plan(model))]
    drawn = {}
    for model in outer:
        config = model.written if model.is_ensemble else _around(model)
        calls = calls_between(repository, {step.model_name for step in config.ensemble_scheduling.step})
        title = repository.path.resolve().name if repository.builds else model.folder
        drawn[model.folder] = graph_of(title, config, configs, calls)
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


def _plan(model: Model) -> str:
    """The plan of a fused ensemble; "" for any other model."""
    if DIGEST not in model.written.parameters:
        return ""
    path = f"{model.versions[max(model.versions)]}/{PLAN}" if model.versions else PLAN
    entry = model.get(path)
    if entry is None or entry.text is None:
        message = f"{PLAN} of this fused ensemble is missing, or too large to be read"
        cure = f"draw the ensemble that it was built from: {COMMAND} graph NAME"
        raise EnsembleError(message, path=model.repository.path, cure=cure)
    return entry.text


def _graph_of_plan(name: str, config: ModelConfig, plan: str) -> Graph:
    """The graph of the fused ensemble with this config.pbtxt and plan.json. Raises EnsembleError: it is no plan."""
    ensemble, models = ModelConfig(), {}
    ensemble.CopyFrom(config)
    try:
        read = parse_json(plan)
        for step in read["steps"]:
            maps = {"input_map": step["inputs"], "output_map": step["outputs"]}
            ensemble.ensemble_scheduling.step.add(model_name=step["name"], **maps)
        for step in (*read["steps"], *read["called"]):
            models[step["name"]] = ParseDict(step["config"], ModelConfig(), ignore_unknown_fields=True)
        calls = {str(caller): [str(callee) for callee in callees] for caller, callees in read["calls"].items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ParseError) as error:
        message = f"{PLAN} of '{name}' is not the plan of a fused ensemble: {str(error)[:200]}"
        raise EnsembleError(message, cure="build the archive again") from error
    return graph_of(name, ensemble, models, calls)
