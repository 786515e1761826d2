"""The DAG of an ensemble: its steps, its tensors, and which step reads and writes which tensor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Any

from triton_ensembles.ground.errors import EnsembleError, escaped
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.triton.backends import ENSEMBLE
from triton_ensembles.triton.model_config import DataType, ModelConfig

Node = str | int
"""A tensor, by its name, or a step, by its number."""
_MOST_DIMS = 8  # shown of one tensor; more are left out
_LONGEST = 80  # letters of a name that is drawn


class Role(StrEnum):
    """Where a tensor is from the ensemble's point of view: INNER ones only connect steps."""

    INPUT = "input"
    OUTPUT = "output"
    INNER = "inner"


@dataclass(frozen=True)
class Tensor:
    """A tensor of the ensemble."""

    name: str  # its name within the ensemble
    data_type: str  # `FP32` for TYPE_FP32; "" when no config declares it
    dims: tuple[int, ...] | None  # without the batch axis, -1 for any length; None when no config declares them
    batch: int  # the largest batch; 0 when there is no batch axis
    role: Role
    optional: bool = False  # a request may leave it out

    @property
    def shape(self) -> str:
        """``FP32 [≤64, -1, 384]``: the batch axis is written as its limit. ``, optional`` follows where it is."""
        if self.dims is None:
            return self.data_type or "unknown"
        axes = [f"≤{self.batch}"] * bool(self.batch) + [str(dim) for dim in self.dims[:_MOST_DIMS]]
        axes += ["…"] * (len(self.dims) > _MOST_DIMS)
        return f"{self.data_type or '?'} [{', '.join(axes)}]{', optional' if self.optional else ''}"


@dataclass(frozen=True)
class Step:
    """A step of the ensemble."""

    number: int  # its index in the config
    model: str  # the name of its model
    backend: str  # the model's backend or platform; "" when unknown
    max_batch_size: int  # of the model; 0 without a batch axis
    decoupled: bool  # whether it answers a request any number of times

    @property
    def kind(self) -> str:
        """The backend, as in ``python, decoupled``; "" when unknown."""
        return f"{self.backend}{', decoupled' if self.decoupled else ''}"


@dataclass(frozen=True)
class Edge:
    """A step, by its number, writes a tensor, or reads it."""

    step: int
    tensor: str  # the tensor's name within the ensemble
    key: str  # its name in the step's model
    writes: bool

    @property
    def other_name(self) -> str:
        """The tensor's name in the step's model, if it differs."""
        return self.key if self.key != self.tensor else ""

    @property
    def ends(self) -> tuple[Node, Node]:
        """The nodes where the arrow starts and ends."""
        return (self.step, self.tensor) if self.writes else (self.tensor, self.step)


@dataclass(frozen=True)
class Graph:
    """The graph of an ensemble."""

    name: str  # shown as the title
    steps: tuple[Step, ...]  # in the order of the config
    tensors: Mapping[str, Tensor]  # by name, the ensemble's inputs first
    edges: tuple[Edge, ...]  # in the order of the steps
    # a step and one that it calls (BLS), or has as a step itself, by their numbers; these models follow the steps
    calls: tuple[tuple[int, int], ...] = ()
    outside: tuple[str, ...] = ()  # models that are beside it and no part of it

    @property
    def note(self) -> str:
        """A line about the models beside it, of many the first; "" without any."""
        return f"not in this DAG: {most_of(self.outside)}" if self.outside else ""

    def verb(self, caller: int) -> str:
        """``calls``; ``runs`` for a step that is an ensemble itself."""
        return "runs" if self.steps[caller].backend == ENSEMBLE else "calls"


def graph_of(
    name: str,
    config: ModelConfig,
    models: Mapping[str, ModelConfig],
    calls: Mapping[str, Sequence[str]] | None = None,
    own: str = "",
) -> Graph:
    """The graph of the ensemble ``config``, with the title ``name``. Raises :class:`EnsembleError`: ``config`` is no
    ensemble, or its steps form a cycle.

    Args:
        models: the configurations of its steps' models by name; types of missing ones stay unknown.
        calls: the models that each model calls or, as an ensemble, has as steps.
        own: the name of the ensemble among ``models``, if it is there.
    """
    if not config.ensemble_scheduling.step:
        raise EnsembleError(f"'{name}' is not an ensemble: it has no steps", cure="name an ensemble; `list` shows them")
    steps, edges = [], []
    for number, step in enumerate(config.ensemble_scheduling.step):
        steps.append(_step(number, step.model_name, models))
        for writes, names in ((False, step.input_map), (True, step.output_map)):
            edges += [Edge(number, names[key], key, writes) for key in sorted(names)]
    numbers = {step.model: step.number for step in reversed(steps)}
    arrows: list[tuple[int, int]] = []
    waiting = [step.model for step in steps]
    for caller in waiting:  # which grows
        for callee in (calls or {}).get(caller, ()):
            if callee not in numbers:
                numbers[callee] = len(steps)
                steps.append(_step(len(steps), callee, models))
                waiting.append(callee)
            if (arrow := (numbers[caller], numbers[callee])) not in arrows:
                arrows.append(arrow)
    tensors = _tensors(config, models, steps, edges)
    outside = tuple(model for model in models if model not in numbers and model != own)
    graph = Graph(name, tuple(steps), tensors, tuple(edges), tuple(arrows), outside)
    ranks(graph)
    return graph


def _step(number: int, name: str, models: Mapping[str, ModelConfig]) -> Step:
    model = models.get(name, ModelConfig())
    decoupled = model.model_transaction_policy.decoupled
    return Step(number, name, model.backend or model.platform, model.max_batch_size, decoupled)


def ranks(graph: Graph) -> dict[Node, int]:
    """The length of the longest path to each tensor and step. Raises :class:`EnsembleError`: there is a cycle."""
    before: dict[Node, list[Node]] = {node: [] for node in (*graph.tensors, *range(len(graph.steps)))}
    for edge in graph.edges:
        before[edge.ends[1]].append(edge.ends[0])
    for caller, callee in graph.calls:
        if callee not in {edge.step for edge in graph.edges}:
            before[callee].append(caller)
    lengths: dict[Node, int] = {}
    try:
        for node in TopologicalSorter(before).static_order():
            lengths[node] = max((lengths[earlier] + 1 for earlier in before[node]), default=0)
    except CycleError as error:
        names = most_of(dict.fromkeys(graph.steps[node].model for node in error.args[1] if isinstance(node, int)))
        message = f"in '{graph.name}' the steps {names} wait for each other"
        raise EnsembleError(message, cure="run `check`, which says where") from error
    return lengths


def _tensors(
    config: ModelConfig, models: Mapping[str, ModelConfig], steps: Sequence[Step], edges: Sequence[Edge]
) -> dict[str, Tensor]:
    """Return the tensors by name, the ensemble's inputs first."""
    declarations = _declarations(config, models, steps, edges)
    roles = {tensor.name: Role.INPUT for tensor in config.input}
    roles |= {tensor.name: Role.OUTPUT for tensor in config.output}
    names = dict.fromkeys([*(tensor.name for tensor in config.input), *(edge.tensor for edge in edges)])
    return {name: _tensor(name, roles.get(name, Role.INNER), declarations.get(name), config) for name in names}


def _declarations(
    config: ModelConfig, models: Mapping[str, ModelConfig], steps: Sequence[Step], edges: Sequence[Edge]
) -> dict[str, tuple[Any, int]]:
    """The config's entry for each tensor, and its largest batch: of the ensemble, or else the writer, or a reader."""
    entries = {tensor.name: (tensor, config.max_batch_size) for tensor in (*config.output, *config.input)}
    of_models = {
        (step.model, writes): {tensor.name: tensor for tensor in (model.output if writes else model.input)}
        for step in steps
        if (model := models.get(step.model))
        for writes in (False, True)
    }
    for edge in sorted(edges, key=lambda edge: not edge.writes):
        model = steps[edge.step].model
        if tensor := of_models.get((model, edge.writes), {}).get(edge.key):
            entries.setdefault(edge.tensor, (tensor, models[model].max_batch_size))
    return entries


def _tensor(name: str, role: Role, declaration: tuple[Any, int] | None, config: ModelConfig) -> Tensor:
    if declaration is None:
        return Tensor(name, "", None, 0, role)
    tensor, batch = declaration
    known = tensor.data_type in DataType.values() and tensor.data_type
    data_type = DataType.Name(tensor.data_type).removeprefix("TYPE_") if known else ""
    # No request of the ensemble carries more than the ensemble's own limit.
    limit = min(batch, config.max_batch_size) if config.max_batch_size else batch
    optional = role == Role.INPUT and tensor.optional
    return Tensor(name, data_type, tuple(tensor.dims), limit, role, optional)


def label(text: str) -> str:
    """``text`` as it is drawn: without what a terminal obeys, and of a long one the beginning and the end."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 + 1 :]}"
    return escaped(text)
