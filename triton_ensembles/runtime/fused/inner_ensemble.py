"""An ensemble that a step calls, or that is a step: its steps are models of the same plan, in the same process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from triton_ensembles.runtime.fused.ensemble import Ensemble, FusedStep
from triton_ensembles.runtime.fused.plan import Plan
from triton_ensembles.runtime.fused.step import StepInput, StepOutput, StepPlace, StepRunner


class InnerEnsemble(StepRunner):
    """Runs the DAG in the config of a step. ``loaded`` has its models when it runs, which the plan shrinks and closes;
    ``entering``: see :class:`Ensemble`, here with the name of a model."""

    def __init__(self, place: StepPlace, loaded: Mapping[str, FusedStep], entering: Callable[[str], object]) -> None:
        self._place, self._loaded, self._entering = place, loaded, entering

    def run(self, batch: Sequence[StepInput]) -> list[StepOutput]:
        questions = [each.question._replace(inputs=each.inputs, wanted=each.wanted) for each in batch]
        return self._ensemble.answer(questions)[0]

    @cached_property
    def _ensemble(self) -> Ensemble:
        config = self._place.plan.config
        steps = [
            replace(self._loaded[use["model_name"]].plan, inputs=use["input_map"], outputs=use["output_map"])
            for use in config["ensemble_scheduling"]["step"]
        ]
        optional = [tensor["name"] for tensor in config["input"] if tensor["optional"]]
        outputs = {
            tensor["name"]: tensor.get("reshape", {}).get("shape", tensor["dims"]) for tensor in config["output"]
        }
        plan = Plan(config["max_batch_size"] > 0, optional, outputs, steps, (), {}, {})
        fused = [replace(self._loaded[step.name], plan=step) for step in steps]
        return Ensemble(self._place.model, plan, fused, lambda index: self._entering(steps[index].name))
