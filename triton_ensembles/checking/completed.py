"""A model with the config that Triton completes from its ONNX file."""

from dataclasses import dataclass, field

from google.protobuf.json_format import MessageToDict, ParseDict

from triton_ensembles.checking.loaded_files import files_read
from triton_ensembles.checking.model_files.file import ModelTensor
from triton_ensembles.checking.repository import Model
from triton_ensembles.runtime.backends.common.completion import complete
from triton_ensembles.runtime.backends.common.model_instance import LoadError, Tensor
from triton_ensembles.triton.model_config import ModelConfig

_BACKEND = "onnxruntime"
# Those that add no tensor to a list which a config has: openvino.cc AutoCompleteInputOrOutput, and of
# tensorrt_backend model_state.cc FixIO.
_ADDING_NONE = ("openvino", "tensorrt")


@dataclass(frozen=True)
class CompletedModel(Model):
    """A model whose ``config`` has what Triton completes."""

    config: ModelConfig = field(default_factory=ModelConfig, compare=False)
    is_completed: bool = False


def completed(model: Model) -> Model:
    """The model as Triton completes it; the model itself where that is unknown, or where Triton refuses it."""
    try:
        config = completed_config(model)
    except LoadError:
        return model
    if config is None:
        return model
    return CompletedModel(model.folder, model.root, model.shown, model.repository, config)


def completed_config(model: Model) -> ModelConfig | None:
    """The config as Triton completes it from the file; None where that is not known, or it completes nothing.

    Raises:
        LoadError: Triton refuses to complete it.
    """
    is_read = model.is_completed and not model.file.faults and model.backend.name == _BACKEND
    if not is_read or any(len(path) > 1 for path in model.left_out):  # a part of a tensor
        return None
    _, file = next(files_read(model, _BACKEND), ("", None))
    if file is None or not file.inputs or not file.outputs:
        return None
    if any(tensor.dims is None for tensor in file.outputs):
        return None
    if any(not tensor.data_type for tensor in (*file.inputs, *file.outputs)):
        return None
    written = MessageToDict(model.file.config, preserving_proto_field_name=True)
    inputs, outputs = (list(map(_tensor, tensors)) for tensors in (file.inputs, file.outputs))
    batches = all(tensor.dims and tensor.dims[0] == -1 for tensor in (*inputs, *outputs))
    written["name"] = model.name
    complete(written, inputs, outputs, batches=batches)
    return ParseDict(written, ModelConfig())


def may_have_more_tensors(model: Model) -> bool:
    """Return whether Triton may know the model with inputs or outputs that ``model.config`` does not have."""
    lists = {("input",), ("output",)} & {*model.left_out}
    return model.is_completed and (bool(lists) or model.backend.name not in _ADDING_NONE)


def _tensor(tensor: ModelTensor) -> Tensor:
    """Return the tensor; ONNX Runtime takes an input without a shape for a single number."""
    return Tensor(tensor.name, tensor.data_type, tensor.dims or ())
