"""Runs a step's model file in the engine that this project's backend of the same name uses."""

import importlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from triton_ensembles.runtime.backends import ENGINES
from triton_ensembles.runtime.backends.common.batching import BadInputError, Request
from triton_ensembles.runtime.backends.common.model_instance import read_model_instance
from triton_ensembles.runtime.fused.messages import Failure
from triton_ensembles.runtime.fused.step import StepInput, StepOutput, StepPlace


class EngineStep:
    """A step with a model file. Raises LoadError when the engine cannot load it."""

    def __init__(self, place: StepPlace) -> None:
        filename, module, engine = ENGINES[place.plan.backend]
        # The plan has the digests of the files.
        model = replace(read_model_instance(place.arguments(), filename), checks_files=False)
        # An archive has the packages, and the folder, of the engines that it needs.
        engines = importlib.import_module(f"triton_ensembles.runtime.backends.{module}")
        self._engine: Any = getattr(engines, engine)(model)
        # DALI's next run writes into the same memory.
        self._copies = place.plan.backend == "dali"
        self._wanted = tuple(tensor.name for tensor in model.outputs if tensor.name in place.plan.outputs)

    def run(self, batch: Sequence[StepInput]) -> list[StepOutput]:
        requests = [Request(step_input.inputs, self._wanted) for step_input in batch]
        return [self._output(result) for result in self._engine.answer(requests)]

    def close(self) -> None:
        self._engine.close()

    def _output(self, result: Any) -> StepOutput:
        if isinstance(result, Exception):
            return Failure(str(result), "INVALID_ARG" if isinstance(result, BadInputError) else "INTERNAL")
        return {name: array.copy() if self._copies else array for name, array in result.items()}
