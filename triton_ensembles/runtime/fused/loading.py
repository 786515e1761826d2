"""Loads the steps of a plan into this process."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.runtime.fused.engine_step import EngineStep
from triton_ensembles.runtime.fused.ensemble import Ensemble, FusedStep, fused_step
from triton_ensembles.runtime.fused.plan import Plan, StepPlan
from triton_ensembles.runtime.fused.python_step import PythonStep, text_of
from triton_ensembles.runtime.fused.step import StepRunner, place_of
from triton_ensembles.runtime.fused.warmup import warm_up


def load_ensemble(plan: Plan, folder: Path, arguments: Mapping[str, Any], entering: Callable[[int], None]) -> Ensemble:
    """The ensemble whose version folder is ``folder``. Raises LoadError, which names the step.

    ``entering`` is called with a step's index before it loads, and before each of its runs.
    """
    loaded: dict[str, FusedStep] = {}  # one model may be several steps of the DAG
    steps = []
    for number, step in enumerate(plan.steps):
        entering(number)
        if step.name not in loaded:
            loaded[step.name] = _load(step, folder, arguments)
        steps.append(replace(loaded[step.name], plan=step))
    return Ensemble(arguments["model_name"], plan, steps, entering)


def _load(step: StepPlan, folder: Path, arguments: Mapping[str, Any]) -> FusedStep:
    place = place_of(step, folder, arguments)
    try:
        runner: StepRunner = PythonStep(place) if step.backend == "python" else EngineStep(place)
    except BaseException as error:  # also SystemExit: whatever a step's own code does
        reason = str(error) if isinstance(error, LoadError) else text_of(error)
        raise LoadError(f"the step {step.name} cannot be loaded: {reason}") from error
    warm_up(place, runner)
    return fused_step(step, place.model, runner)
