"""The steps that write and read each tensor of an ensemble, and the faults in that.

Core (r24.10 model_config_utils.cc ValidateEnsembleSchedulingConfig) stops at the first fault it meets in a hash map's
order, which is often only a consequence. Here each cause is found once, without its consequences.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from triton_ensembles.checking.ensemble_steps import swaps
from triton_ensembles.checking.repository import Model
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import nearest

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
        ready = {*self.inputs, *self.never_written}
        lacking = [set(reads - ready) for reads in self.reads]
        waiting = set(range(len(self.reads)))
        provided: set[str] = set()
        cycles: list[list[int]] = []
        done = deque(step for step in waiting if not lacking[step])
        for start in range(len(self.reads)):
            while True:
                self._settle(done, waiting, lacking, provided)
                if start not in waiting or len(cycles) == _MOST_CYCLES:
                    break
                cycles.append(self._cycle(start, waiting, lacking))
                for step in cycles[-1]:  # treated as done, so that its consequences are not reported
                    for name in list(lacking[step]):
                        done += self._provide(name, lacking, provided)
        return cycles

    @cached_property
    def beside(self) -> tuple[int, int] | None:
        """Two steps that do not wait for each other, if there are any in a flow that Triton loads. In any order in
        which the steps can run, two neighbors without a tensor between them have no path between them either."""
        lacking = [set(reads.difference(self.inputs)) for reads in self.reads]
        waiting = set(range(len(self.reads)))
        order = self._settle(deque(step for step in waiting if not lacking[step]), waiting, lacking, set())
        wrong = waiting or any(len(uses) > 1 for uses in self.writers.values())
        pairs = () if wrong else pairwise(order)
        return next((pair for pair in pairs if self.writes[pair[0]].isdisjoint(self.reads[pair[1]])), None)

    def _settle(self, done: deque[int], waiting: set[int], lacking: list[set[str]], provided: set[str]) -> list[int]:
        """Run the steps that have all their tensors until no other has; returns the order in which they can run."""
        order = []
        while done:
            order.append(step := done.popleft())
            waiting.discard(step)
            for name in self.writes[step]:
                done += self._provide(name, lacking, provided)
        return order

    def _provide(self, name: str, lacking: list[set[str]], provided: set[str]) -> list[int]:
        """The steps that lacked nothing but ``name``; none when it was ``provided`` before: many may write it."""
        if name in provided:
            return []
        provided.add(name)
        readers = {use.step for use in self.readers.get(name, ()) if name in lacking[use.step]}
        for step in readers:
            lacking[step].discard(name)
        return [step for step in readers if not lacking[step]]

    def _cycle(self, start: int, waiting: set[int], lacking: list[set[str]]) -> list[int]:
        """Walk back from ``start`` along tensors that are not ready, until a step repeats."""
        path, step = {start: 0}, start
        while True:
            missing = min(lacking[step])
            step = min((use.step for use in self.writers[missing] if use.step in waiting), default=step)
            if step in path:
                return list(path)[path[step] :][::-1]
            path[step] = len(path)

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
