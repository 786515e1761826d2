"""Loads the steps of a plan into this process."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from triton_ensembles.runtime.backends import ENGINES
from triton_ensembles.runtime.backends.common.batching import BadInputError, Request
from triton_ensembles.runtime.backends.common.model_instance import LoadError, read_model_instance
from triton_ensembles.runtime.fused.called_models import MODELS
from triton_ensembles.runtime.fused.ensemble import Ensemble, FusedStep
from triton_ensembles.runtime.fused.inner_ensemble import InnerEnsemble
from triton_ensembles.runtime.fused.messages import Failure
from triton_ensembles.runtime.fused.plan import ENSEMBLE, Plan
from triton_ensembles.runtime.fused.python_step import PythonStep, text_of
from triton_ensembles.runtime.fused.step import StepInput, StepOutput, StepPlace, StepRunner, place_of
from triton_ensembles.runtime.fused.warmup import warm_up


def load_ensemble(plan: Plan, folder: Path, arguments: Mapping[str, Any], entering: Callable[[int], int]) -> Ensemble:
    """The ensemble whose version folder is ``folder``; ``entering`` is called with the index of a model in the plan
    before it loads, and before each of its runs. Raises LoadError, which names the step."""
    loaded: dict[str, FusedStep] = {}  # one model may be several steps of the DAG
    places: list[StepPlace] = []
    numbers = {step.name: number for number, step in enumerate(plan.models)}
    for number, step in enumerate(plan.models):
        entering(number)
        if step.name not in loaded:
            place = place_of(step, folder, arguments)
            inner = partial(InnerEnsemble, place, loaded, lambda name: entering(numbers[name]))
            loaded[step.name] = _load(place, inner)
            places.append(place)
    MODELS.open(plan, loaded, entering)
    for place in places:  # whose models may call each other
        warm_up(place, loaded[place.plan.name].runner)
    steps = [replace(loaded[step.name], plan=step) for step in plan.steps]
    return Ensemble(arguments["model_name"], plan, steps, entering)


def _load(place: StepPlace, inner: Callable[[], StepRunner]) -> FusedStep:
    step = place.plan
    make: Callable[[], StepRunner] = (
        partial(PythonStep, place, MODELS) if step.backend == "python" else partial(EngineStep, place)
    )
    try:
        runner = inner() if step.backend == ENSEMBLE else make()
    except BaseException as error:  # also SystemExit: whatever a step's own code does
        reason = str(error) if isinstance(error, LoadError) else text_of(error)
        raise LoadError(f"the step {step.name} cannot be loaded: {reason}") from error
    return FusedStep.of(place, runner)


class EngineStep(StepRunner):
    """A step with a model file, in the engine that this project's backend of the same name uses."""

    def __init__(self, place: StepPlace) -> None:
        filename, module, engine = ENGINES[place.plan.backend]
        # The plan has the digests of the files.
        model = replace(read_model_instance(place.arguments(), filename), checks_files=False)
        # An archive has the packages, and the folder, of the engines that it needs.
        engines = importlib.import_module(f"triton_ensembles.runtime.backends.{module}")
        self._engine: Any = getattr(engines, engine)(model)
        # DALI's next run writes into the same memory.
        self._copies = place.plan.backend == "dali"

    def run(self, batch: Sequence[StepInput]) -> list[StepOutput]:
        requests = [Request(step_input.inputs, tuple(step_input.wanted)) for step_input in batch]
        return [self._output(result) for result in self._engine.answer(requests)]

    def shrink(self) -> None:
        if hasattr(self._engine, "shrink"):
            self._engine.shrink()

    def close(self) -> None:
        self._engine.close()

    def _output(self, result: Any) -> StepOutput:
        if isinstance(result, Exception):
            return Failure(str(result), "INVALID_ARG" if isinstance(result, BadInputError) else "INTERNAL")
        return {name: array.copy() if self._copies else array for name, array in result.items()}
