"""Completes the config of a SavedModel, as tensorflow_backend does; a frozen graph does not say what its tensors are.

Source: tensorflow_backend tensorflow.cc (AutoCompleteHelper: FixBatchingSupport, FixIOConfig).
"""

from pathlib import Path
from typing import Any

from triton_ensembles.runtime.backends.common import completion
from triton_ensembles.runtime.backends.common.model_instance import TRITON_TYPES, LoadError, Tensor


def complete(config: dict[str, Any], file: Path) -> None:
    """Add the tensors of the signature where ``config`` has none.

    It batches where every tensor begins with an axis of any size, and the tensors that the config has leave that out.
    Raises LoadError.
    """
    if not file.is_dir():
        return
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel  # takes seconds, which a graph need not wait for

    written = {key: value["string_value"] for key, value in config.get("parameters", {}).items()}
    tag, key = written.get("TF_GRAPH_TAG", "serve"), written.get("TF_SIGNATURE_DEF", "serving_default")
    try:
        graphs = SavedModel.FromString((file / "saved_model.pb").read_bytes()).meta_graphs
    except (OSError, DecodeError) as error:
        raise LoadError(f"{file.name} is not a SavedModel: {error}") from error
    signatures = (graph.signature_def for graph in graphs if tag in graph.meta_info_def.tags)
    signature = next((found[key] for found in signatures if key in found), None)
    if signature is None:
        return  # the load says what there is
    inputs, outputs = (
        [_tensor(*item) for item in sorted(side.items())] for side in (signature.inputs, signature.outputs)
    )
    batches: bool | None = all(tensor.dims and tensor.dims[0] == -1 for tensor in (*inputs, *outputs))
    ranks = {tensor.name: len(tensor.dims or ()) for tensor in (*inputs, *outputs)}
    declared = (*config.get("input", ()), *config.get("output", ()))
    if batches and any(len(tensor["dims"]) + 1 != ranks.get(tensor["name"]) for tensor in declared):
        batches = None
    completion.complete(config, inputs, outputs, batches=batches)


def _tensor(name: str, info: Any) -> Tensor:
    import tensorflow as tf

    dtype, shape = tf.dtypes.as_dtype(info.dtype).name, info.tensor_shape
    dims = None if shape.unknown_rank else tuple(axis.size for axis in shape.dim)
    return Tensor(name, TRITON_TYPES.get(dtype, f"TensorFlow's {dtype}"), dims)
