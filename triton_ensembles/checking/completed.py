"""A model with the config that Triton completes from its ONNX file."""

from dataclasses import dataclass, field

from google.protobuf.json_format import MessageToDict, ParseDict

from triton_ensembles.checking.loaded_files import files_read
from triton_ensembles.checking.model_files.file import ModelTensor
from triton_ensembles.checking.repository import Model
from triton_ensembles.runtime.backends.common.completion import complete
from triton_ensembles.runtime.backends.common.model_instance import LoadError, Tensor
from triton_ensembles.triton.model_config import ModelConfig


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
    """The config as Triton completes it from the ONNX file; None where it completes nothing, or the file is not known.

    Raises:
        LoadError: Triton refuses to complete it.
    """
    if not model.is_completed or model.backend.name != "onnxruntime" or model.file.faults:
        return None
    _, file = next(files_read(model, "onnxruntime"), ("", None))
    if file is None or not file.inputs or not file.outputs:
        return None
    if any(not tensor.data_type or tensor.dims is None for tensor in (*file.inputs, *file.outputs)):
        return None
    written = MessageToDict(model.file.config, preserving_proto_field_name=True)
    inputs, outputs = ([_tensor(tensor) for tensor in tensors] for tensors in (file.inputs, file.outputs))
    batches = all(tensor.dims and tensor.dims[0] == -1 for tensor in (*inputs, *outputs))
    written["name"] = model.name
    complete(written, inputs, outputs, batches=batches)
    return ParseDict(written, ModelConfig())


def _tensor(tensor: ModelTensor) -> Tensor:
    return Tensor(tensor.name, tensor.data_type, tensor.dims)
