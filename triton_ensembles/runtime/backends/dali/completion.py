"""Completes the config of a DALI pipeline, as dali_backend does (config_tools.cc AutofillConfig, dali_model.h)."""

import re
from pathlib import Path
from typing import Any

from triton_ensembles.runtime.backends.common.model_instance import Tensor
from triton_ensembles.runtime.backends.dali.pipeline_file import read_pipeline_file

_TEXTS = re.compile(r'"(?:\\.|[^"\\])*"|#.*')  # strings and comments
_UNBATCHED = re.compile(r"\bmax_batch_size\s*:\s*0\b")


def complete(config: dict[str, Any], file: Path) -> None:
    """Add what ``config`` leaves out of the tensors, inputs by name and outputs by order, and dynamic batching.

    A pipeline batches, unless config.pbtxt says 0: its own number of samples is the most. Raises LoadError.
    """
    pipeline, text = read_pipeline_file(file), file.parent.parent / "config.pbtxt"
    batched = bool(config.get("max_batch_size")) or not (
        text.is_file() and _UNBATCHED.search(_TEXTS.sub("", text.read_text()))
    )
    inputs = {entry.get("name"): entry for entry in config.get("input", ())}
    outputs = config.setdefault("output", [])
    outputs += [{} for _ in pipeline.outputs[len(outputs) :]]
    for tensor in pipeline.inputs:
        _fill(inputs.setdefault(tensor.name, {}), tensor, batched).setdefault("allow_ragged_batch", True)
    for entry, tensor in zip(outputs, pipeline.outputs, strict=False):  # the engine refuses more of them
        _fill(entry, tensor, batched)
    config["input"] = list(inputs.values())
    if batched:
        config["max_batch_size"] = config.get("max_batch_size") or pipeline.batch_size
        config.setdefault("dynamic_batching", {})


def _fill(entry: dict[str, Any], tensor: Tensor, batched: bool) -> dict[str, Any]:
    entry["name"] = entry.get("name") or tensor.name
    if entry.get("data_type", "TYPE_INVALID") == "TYPE_INVALID" and tensor.data_type:
        entry["data_type"] = tensor.data_type
    if not entry.get("dims") and tensor.dims:
        entry["dims"] = list(tensor.dims[1:] if batched else tensor.dims)
    return entry
