"""The DAG of an ensemble as values: its steps, its tensors, and who hands which tensor to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triton_ensembles.errors import EnsembleError
from triton_ensembles.triton.model_config import DataType, ModelConfig


@dataclass(frozen=True)
class Tensor:
    """A tensor of the ensemble.

    Args:
        name: its name within the ensemble.
        data_type: ``FP32`` for TYPE_FP32, "" when no config tells it.
        dims: without the batch axis, -1 for any length; None when no config tells them.
        batch: the largest batch, 0 when there is no batch axis.
        role: "input" or "output" of the ensemble, "inner" when it goes from step to step.
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
        return f"{self.data_type or '?'} [{', '.join([*axes, *(str(dim) for dim in self.dims)])}]"


@dataclass(frozen=True)
class Step:
    """A step: its number in the config, its model, the model's backend ("" when unknown) and max_batch_size."""

    number: int
    model: str
    backend: str
    max_batch_size: int


@dataclass(frozen=True)
class Edge:
    """A step reads (``kind`` "read") or writes ("write") ``tensor``, which its model calls ``key``."""

    kind: str
    step: int
    tensor: str
    key: str


@dataclass(frozen=True)
class Graph:
    name: str
    max_batch_size: int
    steps: tuple[Step, ...]
    tensors: tuple[Tensor, ...]
    edges: tuple[Edge, ...]

    def tensor(self, name: str) -> Tensor:
        return next(tensor for tensor in self.tensors if tensor.name == name)

    def writer(self, tensor: str) -> Edge | None:
        """Who writes ``tensor``; None for the inputs of the ensemble."""
        return next((edge for edge in self.edges if edge.kind == "write" and edge.tensor == tensor), None)

    def readers(self, tensor: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.kind == "read" and edge.tensor == tensor]


def graph_of(name: str, config: ModelConfig, models: Mapping[str, ModelConfig]) -> Graph:
    """The graph of the ensemble ``config``.

    Args:
        name: what to call it.
        config: the ensemble's own configuration.
        models: the configurations of its steps' models by name; those that are missing leave types unknown.

    Raises:
        EnsembleError: when ``config`` is no ensemble, or its steps wait for each other.
    """
    if not config.ensemble_scheduling.step:
        raise EnsembleError(f"'{name}' is no ensemble: it has no steps", cure="name an ensemble; `list` shows them")
    steps, edges = [], []
    for number, item in enumerate(config.ensemble_scheduling.step):
        model = models.get(item.model_name, ModelConfig())
        steps.append(Step(number, item.model_name, model.backend or model.platform, model.max_batch_size))
        for kind, pairs in (("read", item.input_map), ("write", item.output_map)):
            edges += [Edge(kind, number, pairs[key], key) for key in sorted(pairs)]
    names = dict.fromkeys([*(tensor.name for tensor in config.input), *(edge.tensor for edge in edges)])
    tensors = tuple(_tensor(tensor, config, models, steps, edges) for tensor in names)
    graph = Graph(name, config.max_batch_size, tuple(steps), tensors, tuple(edges))
    ranks(graph)
    return graph


def ranks(graph: Graph) -> dict[str | int, int]:
    """How many arrows lie at most before each tensor (by name) and step (by number); raises on a cycle."""
    found: dict[str | int, int] = {tensor.name: 0 for tensor in graph.tensors if graph.writer(tensor.name) is None}
    waiting = list(graph.steps)
    while waiting:
        ready = [step for step in waiting if all(name in found for name in _reads(graph, step))]
        if not ready:
            names = " and ".join(step.model for step in waiting)
            raise EnsembleError(f"in '{graph.name}' the steps {names} wait for each other", cure="`check` says where")
        for step in ready:
            found[step.number] = max((found[name] for name in _reads(graph, step)), default=-1) + 1
            for edge in graph.edges:
                if edge.kind == "write" and edge.step == step.number:
                    found.setdefault(edge.tensor, found[step.number] + 1)
        waiting = [step for step in waiting if step not in ready]
    return found


def _reads(graph: Graph, step: Step) -> list[str]:
    return [edge.tensor for edge in graph.edges if edge.kind == "read" and edge.step == step.number]


def _tensor(
    name: str, config: ModelConfig, models: Mapping[str, ModelConfig], steps: list[Step], edges: list[Edge]
) -> Tensor:
    """The ensemble's own word counts first, then that of the writer, then those of the readers."""
    roles = {tensor.name: "input" for tensor in config.input} | {tensor.name: "output" for tensor in config.output}
    said: list[tuple[Any, int]] = [
        (tensor, config.max_batch_size) for tensor in (*config.input, *config.output) if tensor.name == name
    ]
    for kind, field in (("write", "output"), ("read", "input")):
        for edge in edges:
            model = models.get(steps[edge.step].model)
            if edge.kind == kind and edge.tensor == name and model is not None:
                found = [tensor for tensor in getattr(model, field) if tensor.name == edge.key]
                said += [(tensor, model.max_batch_size) for tensor in found]
    if not said:
        return Tensor(name, "", None, 0, roles.get(name, "inner"))
    tensor, batch = said[0]
    known = tensor.data_type in DataType.values() and tensor.data_type
    data_type = DataType.Name(tensor.data_type).removeprefix("TYPE_") if known else ""
    # No request of the ensemble carries more than the ensemble's own limit.
    limit = min(batch, config.max_batch_size) if config.max_batch_size else batch
    return Tensor(name, data_type, tuple(tensor.dims), limit, roles.get(name, "inner"))
