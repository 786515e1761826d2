"""The steps that write and read each tensor of an ensemble, and the faults in that.

Core (r24.10 model_config_utils.cc ValidateEnsembleSchedulingConfig) stops at the first fault it meets in a hash map's
order, which is often only a consequence. Here each cause is found once, without its consequences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from typing import TypeVar

from triton_ensembles.checking.ensemble_steps import swaps
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.triton.model_config import order_of

_Node = TypeVar("_Node", int, str)
_MOST_CYCLES = 50
_MOST_COMPARED = 100  # names; each unknown one is compared with all of them


@dataclass(frozen=True)
class Use:
    """Step number ``step`` maps its model's tensor ``key`` to a tensor of the ensemble."""

    step: int
    key: str


@dataclass(frozen=True)
class Dataflow:
    """The tensors of an ensemble: its inputs and outputs, and for each tensor the steps that write and read it."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reads: tuple[frozenset[str], ...]  # for each step
    writes: tuple[frozenset[str], ...]
    writers: dict[str, list[Use]] = field(default_factory=dict)
    readers: dict[str, list[Use]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model) -> Dataflow:
        if swaps(model):  # step-input-unknown or step-output-unknown, from which all else follows
            raise UnknownValueError
        config = model.config
        writers: dict[str, list[Use]] = defaultdict(list)
        readers: dict[str, list[Use]] = defaultdict(list)
        for number, step in enumerate(config.ensemble_scheduling.step):
            for uses, pairs in ((readers, step.input_map), (writers, step.output_map)):
                for key in sorted(pairs):
                    uses[pairs[key]].append(Use(number, key))
        return cls(
            tuple(tensor.name for tensor in config.input),
            tuple(tensor.name for tensor in config.output),
            tuple(frozenset(step.input_map.values()) for step in config.ensemble_scheduling.step),
            tuple(frozenset(step.output_map.values()) for step in config.ensemble_scheduling.step),
            dict(writers),
            dict(readers),
        )

    @cached_property
    def never_written(self) -> dict[str, str | None]:
        """Tensors that a step reads and nothing writes, with the name that was probably meant."""
        inputs, known = set(self.inputs), [*self.inputs, *self.writers]
        missing = [name for name in self.readers if name not in self.writers and name not in inputs]
        return {name: self._meant(name, known) for name in missing}

    @cached_property
    def missing_outputs(self) -> dict[str, str | None]:
        """Outputs of the ensemble that no step mentions, with the name that was probably meant."""
        inputs, known = set(self.inputs), list(self.writers)
        missing = [name for name in self.outputs if not self._mentioned(name) and name not in inputs]
        return {name: self._meant(name, known) for name in missing if name}

    @cached_property
    def unused_inputs(self) -> list[str]:
        """Inputs of the ensemble that no step mentions."""
        return [name for name in self.inputs if name and not self._mentioned(name) and name not in self._misspelled]

    @cached_property
    def unused_tensors(self) -> list[str]:
        """Tensors that a step writes and nothing reads."""
        used = {*self.readers, *self.outputs, *self._misspelled}
        return [name for name in self.writers if name not in used]

    @cached_property
    def cycles(self) -> list[list[int]]:
        """Steps that depend on each other, as lists of step numbers; one list for each separate cycle."""
        return [[*ring[1:], ring[0]] for ring in islice(rings(self._before), _MOST_CYCLES)]

    @cached_property
    def order(self) -> list[int]:
        """The steps in an order in which they can run, without those that wait for a cycle."""
        return order_of(self._before)

    @cached_property
    def beside(self) -> tuple[int, int] | None:
        """Two steps that do not wait for each other, if there are any in a flow that Triton loads. In any order in
        which the steps can run, two neighbors without a tensor between them have no path between them either."""
        is_whole = len(self.order) == len(self.reads) and not self.never_written
        pairs = pairwise(self.order) if is_whole and all(len(uses) == 1 for uses in self.writers.values()) else ()
        return next((pair for pair in pairs if self.writes[pair[0]].isdisjoint(self.reads[pair[1]])), None)

    @cached_property
    def _before(self) -> dict[int, set[int]]:
        """The steps that each step waits for: of several that write one tensor, which is another fault, the first."""
        given = {*self.inputs, *self.never_written}
        return {step: {self.writers[name][0].step for name in reads - given} for step, reads in enumerate(self.reads)}

    def _mentioned(self, name: str) -> bool:
        return name in self.writers or name in self.readers

    def _meant(self, name: str, known: list[str]) -> str | None:
        """Prefer unused names: a misspelling leaves the right name unused."""
        if len(known) > _MOST_COMPARED:
            return None
        unused = [item for item in known if item not in self.readers and item not in self.outputs]
        return nearest(name, unused) or nearest(name, known)

    @cached_property
    def _misspelled(self) -> set[str]:
        """Names that are unused only because they are misspelled elsewhere."""
        meant = [*self.never_written.values(), *self.missing_outputs.values()]
        return {name for name in meant if name is not None}


def rings(before: Mapping[_Node, Iterable[_Node]]) -> Iterator[list[_Node]]:
    """Nodes that wait for each other: the least one, the one that waits for it, and so on. No two rings share one."""
    graph = dict(before)
    while True:
        try:
            TopologicalSorter(graph).prepare()
            return
        except CycleError as error:
            ring: list[_Node] = error.args[1][1:]
            start = ring.index(min(ring))
            yield ring[start:] + ring[:start]
            for node in ring:  # treated as done, so that its consequences are not reported
                del graph[node]
