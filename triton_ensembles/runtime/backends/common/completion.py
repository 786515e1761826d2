"""Configs completed by what the model's file says, as NVIDIA's backends of the same names do it.

Sources: onnxruntime_backend onnxruntime.cc (AutoCompleteConfig, AutoCompleteMaxBatch, AutoCompleteIO) and
openvino_backend openvino.cc (AutoCompleteConfig, AutoCompleteBatching, AutoCompleteInputOrOutput). DALI's own is in
dali/completion.py, TensorFlow's in tensorflow/completion.py; PyTorch's completes nothing at all.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from triton_ensembles.runtime.backends.common.model_instance import LoadError, Tensor

_DEFAULT_MAX_BATCH_SIZE = 4  # server command_line_parser.cc: default-max-batch-size


def model_file(config: dict[str, Any], default_filename: str) -> Path:
    """The model's file. Triton gives auto_complete_config no path, but starts its stub with that of a file beside it:
    python_backend r24.10 stub_launcher.cc, the first argument."""
    arguments = Path("/proc/self/cmdline").read_bytes().split(b"\0")
    folder = Path(arguments[1].decode()).parent
    return folder / (config.get("default_model_filename") or default_filename)


def complete(
    config: dict[str, Any], inputs: Sequence[Tensor], outputs: Sequence[Tensor], *, batches: bool | None
) -> None:
    """Add what ``config``, the dict of the JSON that Triton gives, leaves out.

    Args:
        inputs, outputs: of the file, with the batch axis.
        batches: whether the file can batch; None if it does not say.

    Raises:
        LoadError: max_batch_size is set, and the file cannot batch.
    """
    if batches:
        config["max_batch_size"] = config.get("max_batch_size") or _DEFAULT_MAX_BATCH_SIZE
        if config["max_batch_size"] > 1 and "sequence_batching" not in config:
            config.setdefault("dynamic_batching", {})
    elif batches is False and config.get("max_batch_size"):
        raise LoadError(
            f"autofill failed for model '{config['name']}': model does not support batching while non-zero "
            "max_batch_size is specified"
        )
    batched = bool(config.get("max_batch_size"))
    if not config.get("input") and not config.get("batch_input"):
        config["input"] = [_entry(tensor, batched) for tensor in inputs]
    if not config.get("output"):
        config["output"] = [_entry(tensor, batched) for tensor in outputs]


def _entry(tensor: Tensor, batched: bool) -> dict[str, Any]:
    dims = list(tensor.dims or ())[1 if batched else 0 :]
    entry = {"name": tensor.name, "data_type": tensor.data_type, "dims": dims or [1]}
    return entry if dims or not batched else entry | {"reshape": {"shape": []}}
