"""Completes the config of a DALI pipeline, as dali_backend does (config_tools.cc AutofillConfig, dali_model.h)."""

import re
from pathlib import Path
from typing import Any

from triton_ensembles.runtime.backends.common.model_instance import LoadError, Tensor
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
    inputs, outputs = config.setdefault("input", []), config.setdefault("output", [])
    if len(outputs) > len(pipeline.outputs):
        raise LoadError(f"the config has {len(outputs)} outputs, but the pipeline returns {len(pipeline.outputs)}")
    outputs += [{} for _ in pipeline.outputs[len(outputs) :]]
    entries = {entry.get("name"): entry for entry in inputs}
    inputs += [entries.setdefault(own.name, {}) for own in pipeline.inputs if own.name not in entries]
    for tensor in pipeline.inputs:
        _fill(entries[tensor.name], tensor, batched)
        entries[tensor.name].setdefault("allow_ragged_batch", True)
    for entry, tensor in zip(outputs, pipeline.outputs, strict=True):
        _fill(entry, tensor, batched)
    if batched:
        config["max_batch_size"] = config.get("max_batch_size") or pipeline.batch_size
        config.setdefault("dynamic_batching", {})


def _fill(entry: dict[str, Any], tensor: Tensor, batched: bool) -> None:
    entry["name"] = entry.get("name") or tensor.name
    if entry.get("data_type", "TYPE_INVALID") == "TYPE_INVALID" and tensor.data_type:
        entry["data_type"] = tensor.data_type
    if not entry.get("dims") and tensor.dims:
        entry["dims"] = list(tensor.dims[1:] if batched else tensor.dims)
