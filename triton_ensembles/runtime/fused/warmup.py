"""The warm-up requests of a step's config, which Triton would send to its model while it loads.

Source: core r24.10, model_config.proto (ModelWarmup) and backend_model_instance.cc (GenerateWarmupData).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.backends.common.batching import Array
from triton_ensembles.runtime.fused.messages import Failure, Question
from triton_ensembles.runtime.fused.step import StepInput, StepPlace, StepRunner


def warm_up(place: StepPlace, runner: StepRunner) -> None:
    """Send the samples of the step's config; a failure is logged and harms nothing."""
    for sample in place.plan.config.get("model_warmup", ()):
        try:
            failures = {result.message for result in _results(sample, place, runner) if isinstance(result, Failure)}
        except (OSError, ValueError) as error:
            failures = {str(error)}
        for failure in sorted(failures):
            name = sample.get("name", "")
            pb_utils.Logger.log_error(f"failed to run warm-up sample '{name}' of {place.model}: {failure}")


def _results(sample: Mapping[str, Any], place: StepPlace, runner: StepRunner) -> Iterator[Any]:
    question = Question(id="", correlation_id=0, flags=0, timeout=0, parameters="{}", inputs={}, wanted=())
    batched = int(place.plan.config.get("max_batch_size", 0)) > 0
    inputs = {name: _array(entry, place, batched=batched) for name, entry in sample["inputs"].items()}
    outputs = sorted(output["name"] for output in place.plan.config.get("output", ()))
    requests = max(int(sample.get("batch_size") or 0), 1) if batched else 1
    for _ in range(int(sample.get("count") or 1)):
        copies = [{name: array.copy() for name, array in inputs.items()} for _ in range(requests)]
        yield from runner.run([StepInput(question, arrays, outputs) for arrays in copies])


def _array(entry: Mapping[str, Any], place: StepPlace, *, batched: bool) -> Array:
    """Return one input of one request, which has one row: the batch size of a sample is a number of requests."""
    dims = [int(size) for size in entry.get("dims", ())]
    text = entry["data_type"] == "TYPE_STRING"
    dtype = np.dtype(object if text else pb_utils.triton_string_to_numpy(entry["data_type"]))
    shape = [1, *dims] if batched else dims
    if name := entry.get("input_data_file"):
        raw = (place.folder / "warmup" / name).read_bytes()
        return (pb_utils.deserialize_bytes_tensor(raw) if text else np.frombuffer(raw, dtype)).reshape(shape)
    if text:
        return np.full(shape, b"", dtype=object)
    if entry.get("random_data"):
        return np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    return np.zeros(shape, dtype)
