"""A step of the DAG, whatever runs it: a request in, tensors or a failure out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.fused.messages import Failure, Question
from triton_ensembles.runtime.fused.plan import STEPS, StepPlan


class StepInput(NamedTuple):
    """A request to a step, and the request to the ensemble, or of another step, that it belongs to."""

    question: Question
    inputs: Mapping[str, Array]  # by the step's input
    wanted: Sequence[str]  # the step's outputs that are requested, sorted


StepOutput = Mapping[str, Array] | Failure
"""Arrays by the step's output, or why there are none."""


class StepRunner:
    """Runs one step."""

    def run(self, batch: Sequence[StepInput]) -> list[StepOutput]:
        """Return a result for each request, in their order. Never raises."""
        raise NotImplementedError

    def shrink(self) -> None:
        """Give back what is kept of the largest batch."""

    def close(self) -> None:
        """End the step."""


@dataclass(frozen=True)
class StepPlace:
    """A step as its model instance would see itself in the drawn form."""

    plan: StepPlan
    model: str  # its name, "bert_trt.preprocess"
    instance: str  # the name of the model instance, "bert_trt.preprocess_0_0"
    folder: Path  # of the step's model

    @property
    def version_folder(self) -> Path:
        return self.folder / self.plan.version

    def arguments(self) -> dict[str, str]:
        """``args`` of ``TritonPythonModel.initialize``."""
        return {
            "model_config": json.dumps({"name": self.model, **self.plan.config}),
            "model_instance_kind": "CPU",
            "model_instance_name": self.instance,
            "model_instance_device_id": "0",
            "model_repository": str(self.folder),
            "model_version": self.plan.version,
            "model_name": self.model,
        }


def place_of(plan: StepPlan, version_folder: Path, arguments: Mapping[str, Any]) -> StepPlace:
    """The place of a step of the fused model whose ``initialize`` got ``arguments``."""
    ensemble = arguments["model_name"]
    model, number = f"{ensemble}.{plan.name}", arguments["model_instance_name"].removeprefix(ensemble)
    return StepPlace(plan, model, model + number, version_folder / STEPS / plan.name)
