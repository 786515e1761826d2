"""The DAG of an ensemble: its steps, its tensors, and which step reads and writes which tensor."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

from triton_ensembles.errors import EnsembleError
from triton_ensembles.spelling import most_of
from triton_ensembles.triton.model_config import DataType, ModelConfig

_MOST_DIMS = 8  # shown of one tensor; more are left out


@dataclass(frozen=True)
class Tensor:
    """A tensor of the ensemble.

    Args:
        name: its name within the ensemble.
        data_type: ``FP32`` for TYPE_FP32; "" when no config declares it.
        dims: without the batch axis, -1 for any length; None when no config declares them.
        batch: the largest batch; 0 when there is no batch axis.
        role: "input" or "output" of the ensemble, "inner" when it only connects steps.
    """

    name: str
    data_type: str
    dims: tuple[int, ...] | None
    batch: int
    role: str

    @property
    def shape(self) -> str:
        """``FP32 [≤64, -1, 384]``: the batch axis is written as its limit."""
        if self.dims is None:
            return self.data_type or "unknown"
        axes = [f"≤{self.batch}"] if self.batch else []
        axes += [str(dim) for dim in self.dims[:_MOST_DIMS]]
        axes += ["…"] if len(self.dims) > _MOST_DIMS else []
        return f"{self.data_type or '?'} [{', '.join(axes)}]"


@dataclass(frozen=True)
class Step:
    """A step of the ensemble.

    Args:
        number: its index in the config.
        model: the name of its model.
        backend: the model's backend or platform; "" when unknown.
        max_batch_size: of the model; 0 without a batch axis.
    """

    number: int
    model: str
    backend: str
    max_batch_size: int


@dataclass(frozen=True)
class Edge:
    """A step reads or writes a tensor.

    Args:
        kind: "read" or "write".
        step: the number of the step.
        tensor: the tensor's name within the ensemble.
        key: its name in the step's model.
    """

    kind: str
    step: int
    tensor: str
    key: str

    @property
    def other_name(self) -> str:
        """The tensor's name in the step's model, if it differs."""
        return self.key if self.key != self.tensor else ""

    @property
    def ends(self) -> tuple[str | int, str | int]:
        """Where the arrow starts and ends: the tensor's name and the step's number, or the other way round."""
        return (self.tensor, self.step) if self.kind == "read" else (self.step, self.tensor)


@dataclass(frozen=True)
class Graph:
    """The graph of an ensemble.

    Args:
        name: shown as the title.
        steps: in the order of the config.
        tensors: the ensemble's inputs first.
        edges: in the order of the steps.
    """

    name: str
    steps: tuple[Step, ...]
    tensors: tuple[Tensor, ...]
    edges: tuple[Edge, ...]

    def tensor(self, name: str) -> Tensor:
        return self._by_name[name]

    def writer(self, tensor: str) -> Edge | None:
        """The edge that writes ``tensor``; None for the inputs of the ensemble."""
        return self._writers.get(tensor)

    def readers(self, tensor: str) -> Sequence[Edge]:
        return self._readers.get(tensor, ())

    @cached_property
    def _by_name(self) -> dict[str, Tensor]:
        return {tensor.name: tensor for tensor in self.tensors}

    @cached_property
    def _writers(self) -> dict[str, Edge]:
        return {edge.tensor: edge for edge in reversed(self.edges) if edge.kind == "write"}

    @cached_property
    def _readers(self) -> dict[str, list[Edge]]:
        found: dict[str, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            if edge.kind == "read":
                found[edge.tensor].append(edge)
        return dict(found)


def graph_of(name: str, config: ModelConfig, models: Mapping[str, ModelConfig]) -> Graph:
    """The graph of the ensemble ``config``.

    Args:
        name: the title.
        config: the ensemble's own configuration.
        models: the configurations of its steps' models by name; types of missing ones stay unknown.

    Raises:
        EnsembleError: ``config`` is not an ensemble, or its steps form a cycle.
    """
    if not config.ensemble_scheduling.step:
        raise EnsembleError(f"'{name}' is not an ensemble: it has no steps", cure="name an ensemble; `list` shows them")
    steps, edges = [], []
    for number, item in enumerate(config.ensemble_scheduling.step):
        model = models.get(item.model_name, ModelConfig())
        steps.append(Step(number, item.model_name, model.backend or model.platform, model.max_batch_size))
        for kind, pairs in (("read", item.input_map), ("write", item.output_map)):
            edges += [Edge(kind, number, pairs[key], key) for key in sorted(pairs)]
    names = dict.fromkeys([*(tensor.name for tensor in config.input), *(edge.tensor for edge in edges)])
    declarations = _declarations(config, models, steps, edges)
    roles = {tensor.name: "input" for tensor in config.input} | {tensor.name: "output" for tensor in config.output}
    tensors = tuple(_tensor(each, roles.get(each, "inner"), declarations.get(each), config) for each in names)
    graph = Graph(name, tuple(steps), tensors, tuple(edges))
    ranks(graph)
    return graph


def ranks(graph: Graph) -> dict[str | int, int]:
    """The length of the longest path to each tensor (by name) and step (by number).

    Raises:
        EnsembleError: there is a cycle.
    """
    before: dict[str | int, list[str | int]] = {tensor.name: [] for tensor in graph.tensors}
    before |= {step.number: [] for step in graph.steps}
    for edge in graph.edges:
        before[edge.ends[1]].append(edge.ends[0])
    found: dict[str | int, int] = {}
    try:
        for node in TopologicalSorter(before).static_order():
            found[node] = max((found[each] + 1 for each in before[node]), default=0)
    except CycleError as error:
        names = most_of(dict.fromkeys(graph.steps[each].model for each in error.args[1] if isinstance(each, int)))
        raise EnsembleError(
            f"in '{graph.name}' the steps {names} wait for each other", cure="run `check`, which says where"
        ) from error
    return found


def _declarations(
    config: ModelConfig, models: Mapping[str, ModelConfig], steps: Sequence[Step], edges: Sequence[Edge]
) -> dict[str, tuple[Any, int]]:
    """Who says what each tensor is, and its largest batch: the ensemble, or else the writer, or else a reader."""
    found: dict[str, tuple[Any, int]] = {}
    for tensor in (*config.input, *config.output):
        found.setdefault(tensor.name, (tensor, config.max_batch_size))
    used = {step.model: models[step.model] for step in steps if step.model in models}
    inputs = {name: {each.name: each for each in model.input} for name, model in used.items()}
    outputs = {name: {each.name: each for each in model.output} for name, model in used.items()}
    for edge in sorted(edges, key=lambda edge: edge.kind == "read"):
        model = steps[edge.step].model
        tensor = (inputs if edge.kind == "read" else outputs).get(model, {}).get(edge.key)
        if tensor is not None:
            found.setdefault(edge.tensor, (tensor, models[model].max_batch_size))
    return found


def _tensor(name: str, role: str, declared: tuple[Any, int] | None, config: ModelConfig) -> Tensor:
    if declared is None:
        return Tensor(name, "", None, 0, role)
    tensor, batch = declared
    known = tensor.data_type in DataType.values() and tensor.data_type
    data_type = DataType.Name(tensor.data_type).removeprefix("TYPE_") if known else ""
    # No request of the ensemble carries more than the ensemble's own limit.
    limit = min(batch, config.max_batch_size) if config.max_batch_size else batch
    return Tensor(name, data_type, tuple(tensor.dims), limit, role)
