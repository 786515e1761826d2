"""Runs the DAG for a batch of requests, each as Triton's ensemble scheduler would run it.

Source: core r24.10, ensemble_scheduler.cc. Where it runs independent steps at the same time, this runs them one after
the other, each for all requests that reach it.
"""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.fused.messages import Answer, Failure, Question
from triton_ensembles.runtime.fused.plan import Plan, StepPlan
from triton_ensembles.runtime.fused.step import StepInput, StepOutput, StepPlace, StepRunner
from triton_ensembles.runtime.fused.step_inputs import (
    DeclaredTensor,
    RefusedError,
    Tensor,
    accepted,
    declared,
    fitted,
    returned,
)


class StepCount(NamedTuple):
    """Work of a step for one batch of the ensemble; ``ns`` is the time of its requests in it, in nanoseconds: a batch
    of eight that takes 10 ms adds 80 ms, as in Triton's own statistics."""

    requests: int
    rows: int
    executions: int
    ns: int


@dataclass(frozen=True)
class FusedStep:
    """A step and what Triton knows of its model; ``rows`` is its max_batch_size."""

    plan: StepPlan
    model: str
    runner: StepRunner
    rows: int
    inputs: Mapping[str, DeclaredTensor]
    outputs: Mapping[str, DeclaredTensor]

    @classmethod
    def of(cls, place: StepPlace, runner: StepRunner) -> "FusedStep":
        """Read what the step's config says of its tensors."""
        config = place.plan.config
        inputs, outputs = (declared(config.get(kind, ())) for kind in ("input", "output"))
        return cls(place.plan, place.model, runner, int(config.get("max_batch_size", 0)), inputs, outputs)

    def accepted(self, question: Question) -> StepInput:
        """Return a request as the model gets it. Raises :class:`RefusedError`, as Triton would refuse it."""
        if unknown := next((output for output in question.wanted if output not in self.outputs), None):
            raise RefusedError(f"unexpected inference output '{unknown}' for model '{self.model}'")
        arrays = accepted(self.model, self.rows, self.inputs, question.inputs, question.tag)
        return StepInput(question, arrays, sorted(question.wanted or self.outputs))

    def passed(self, question: Question, result: StepOutput) -> StepOutput:
        """Return the outputs with the shapes that clients and other models see, or why there are none."""
        if isinstance(result, Failure):
            return result
        try:
            return {
                name: returned(array, self.outputs.get(name), batched=self.rows > 0) for name, array in result.items()
            }
        except RefusedError as error:
            return Failure(f"{question.tag}{error} in the config of '{self.model}'")

    def groups(self, requests: Sequence[Mapping[str, Array]]) -> list[list[int]]:
        """The indexes of the requests of each execution: those that Triton's dynamic batcher would put together.
        Source: core r24.10, dynamic_batch_scheduler.cc and scheduler_utils.cc (RequiredEqualInputs)."""
        if len(requests) == 1 or not (self.rows and "dynamic_batching" in self.plan.config):
            return [[index] for index in range(len(requests))]
        groups: list[list[int]] = []
        last: dict[Hashable, int] = {}  # the group that requests of these shapes go to
        used: list[int] = []
        for index, inputs in enumerate(requests):
            rows = len(next(iter(inputs.values())))
            # Inputs that may be ragged only have to be there.
            shapes = {name: None if self.inputs[name].ragged else array.shape[1:] for name, array in inputs.items()}
            key = tuple(sorted(shapes.items()))
            group = last.get(key)
            if group is None or used[group] + rows > self.rows:
                group = last[key] = len(groups)
                groups.append([])
                used.append(0)
            groups[group].append(index)
            used[group] += rows
        return groups


class Ensemble:
    """The loaded DAG. ``entering`` gets the index of each step before it runs: a death of the process is explained."""

    def __init__(self, name: str, plan: Plan, steps: Sequence[FusedStep], entering: Callable[[int], object]) -> None:
        self._name, self._plan, self._steps, self._entering = name, plan, steps, entering
        self._readers: dict[str, int] = dict.fromkeys(plan.outputs, 1)
        for step in steps:
            for tensor in step.plan.inputs.values():
                self._readers[tensor] = self._readers.get(tensor, 0) + 1
        self._needed: dict[frozenset[str], frozenset[int]] = {}

    def answer(self, questions: Sequence[Question]) -> tuple[list[Answer], list[StepCount]]:
        """Return an answer for each question, in their order, and what each step did."""
        runs = [_Run(question, self._plan, self._needed_for(question.wanted)) for question in questions]
        counts = [self._run(index, step, runs) for index, step in enumerate(self._steps)]
        return [run.answer(self._name, self._plan) for run in runs], counts

    def _run(self, index: int, step: FusedStep, runs: Sequence["_Run"]) -> StepCount:
        waiting = ((run, self._inputs(run, step)) for run in runs if run.waits_for(index, step))
        due = [(run, inputs) for run, inputs in waiting if inputs is not None]
        if not due:
            return StepCount(0, 0, 0, 0)
        self._entering(index)
        started = time.perf_counter_ns()
        groups = step.groups([inputs for _, inputs in due])
        for group in groups:
            members = [due[member] for member in group]
            results = step.runner.run([StepInput(run.question, inputs, step.plan.wanted) for run, inputs in members])
            for (run, inputs), result in zip(members, results, strict=True):
                run.take(step, inputs, result)
        rows = sum(_rows(step, inputs) for _, inputs in due)
        return StepCount(len(due), rows, len(groups), (time.perf_counter_ns() - started) * len(due))

    def _inputs(self, run: "_Run", step: FusedStep) -> dict[str, Any] | None:
        """The step's inputs for a request; None if Triton would refuse it, which ends the request."""
        arrays = {}
        batched = step.rows > 0
        for name, tensor_name in step.plan.inputs.items():
            tensor = run.tensors[tensor_name]
            if tensor.array is None:
                continue
            array = fitted(tensor.array, tensor.batch, step.inputs[name].dims, batched=batched)
            # In the drawn form every model has a copy of its own, which it may change or keep.
            arrays[name] = np.array(array) if self._readers[tensor_name] > 1 or not tensor.private else array
        try:
            return accepted(step.model, step.rows, step.inputs, arrays, run.question.tag)
        except RefusedError as error:
            run.failure = Failure(str(error), "INVALID_ARG")
            return None

    def _needed_for(self, outputs: Sequence[str]) -> frozenset[int]:
        """The indexes of the steps that run when only these outputs are requested."""
        key = frozenset(outputs)
        if key not in self._needed:
            self._needed[key] = self._pruned(key)
        return self._needed[key]

    def _pruned(self, outputs: frozenset[str]) -> frozenset[int]:
        """A step is left out when all its outputs are, and a tensor when no step that is left reads it. Triton 24.10
        also leaves out steps that are needed: the writer of an output that was not requested but is read by another
        step, and the first step of the config when an input of the ensemble is no longer read. It then answers
        "unexpected deadlock"."""
        plans = dict(enumerate(step.plan for step in self._steps))
        unused = set(self._plan.outputs) - outputs
        for index, step in reversed(list(plans.items())):
            read = {tensor for plan in plans.values() for tensor in plan.inputs.values()}
            if step.outputs and unused.issuperset(step.outputs.values()) and read.isdisjoint(step.outputs.values()):
                del plans[index]
                unused |= set(step.inputs.values()) - {name for plan in plans.values() for name in plan.inputs.values()}
        return frozenset(plans)


class _Run:
    """A request on its way through the DAG."""

    def __init__(self, question: Question, plan: Plan, needed: frozenset[int]) -> None:
        self.question, self._needed = question, needed
        self.failure: Failure | None = None
        self._batch = len(next(iter(question.inputs.values()))) if plan.batched and question.inputs else 0
        self.tensors = {name: Tensor(array, self._batch) for name, array in question.inputs.items()}
        for name in plan.optional:
            self.tensors.setdefault(name, Tensor(None, self._batch))

    def waits_for(self, index: int, step: FusedStep) -> bool:
        """Return whether the step runs for this request now."""
        runs = self.failure is None and index in self._needed
        return runs and all(tensor in self.tensors for tensor in step.plan.inputs.values())

    def take(self, step: FusedStep, inputs: Mapping[str, Any], result: StepOutput) -> None:
        """Take the result of the step for this request."""
        result = step.passed(self.question, result)
        if isinstance(result, Failure):
            self.failure = result
            return
        batch = len(next(iter(inputs.values()))) if step.rows and inputs else 0
        for name, tensor in step.plan.outputs.items():
            self.tensors[tensor] = Tensor(result.get(name), batch, private=True)

    def answer(self, name: str, plan: Plan) -> Answer:
        if self.failure:
            return Failure(f"in ensemble '{name}', {self.failure.message}", self.failure.code)
        answer = {}
        for output in (name for name in plan.outputs if name in self.question.wanted):
            tensor = self.tensors.get(output)
            if tensor is None:
                message = "unexpected deadlock, at least one output is not set while no more ensemble steps can be made"
                return Failure(f"in ensemble '{name}', {self.question.tag}{message}", "INVALID_ARG")
            if tensor.array is not None:  # its step did not return it
                answer[output] = fitted(tensor.array, tensor.batch, plan.outputs[output], batched=self._batch != 0)
        return answer


def _rows(step: FusedStep, inputs: Mapping[str, Any]) -> int:
    return len(next(iter(inputs.values()))) if step.rows and inputs else 1
