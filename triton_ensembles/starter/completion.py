"""What a config.pbtxt leaves out, from the model's own file. Triton would ask the backend; builds switch that off, so
that what is served is what is written."""

from pathlib import Path

from triton_ensembles.check.model_files.file import ModelFile, ModelTensor
from triton_ensembles.check.model_files.read import FileReader
from triton_ensembles.triton.backends import KNOWN, PLATFORMS
from triton_ensembles.triton.model_config import CONFIG, DataType, ModelConfig, format_config

_BATCH = 4  # core r24.10: what Triton writes for a model that batches, unless the server is told otherwise


def complete(model: Path, config: ModelConfig) -> str:
    """Add to ``config`` and to the config.pbtxt of the folder ``model`` what is not written there, and say what."""
    before = ModelConfig()
    before.CopyFrom(config)
    if not config.backend and not config.platform:
        config.backend = _backend_of(model)
    if (config.backend or PLATFORMS.get(config.platform)) == "onnxruntime" and not (config.input and config.output):
        _complete_onnx(model, config)
    if config == before:
        return ""
    added = ModelConfig()
    names = [
        field.name for field, _ in config.ListFields() if getattr(config, field.name) != getattr(before, field.name)
    ]
    for name in names:
        if config.DESCRIPTOR.fields_by_name[name].is_repeated:
            getattr(added, name).MergeFrom(getattr(config, name)[len(getattr(before, name)) :])
        elif config.DESCRIPTOR.fields_by_name[name].message_type:
            getattr(added, name).CopyFrom(getattr(config, name))
        else:
            setattr(added, name, getattr(config, name))
    path = model / CONFIG
    written = path.read_text("utf-8") if path.is_file() else ""
    path.write_text(f"{written.rstrip()}\n\n{format_config(added)}".lstrip(), encoding="utf-8")
    return ", ".join(names)


def _backend_of(model: Path) -> str:
    """The backend whose file is there, as Triton chooses it."""
    files = {path.name for path in model.glob("[0-9]*/model.*")}
    return next((name for name, (_, file) in KNOWN.items() if file and file in files), "")


def _complete_onnx(model: Path, config: ModelConfig) -> None:
    """As onnxruntime_backend r24.10 does in onnxruntime.cc, AutoCompleteConfig."""
    file = _read(model, config.default_model_filename or "model.onnx")
    if (
        file is None
        or file.inputs is None
        or file.outputs is None
        or not all(map(_is_known, (*file.inputs, *file.outputs)))
    ):
        return
    tensors = (*file.inputs, *file.outputs)
    if not config.max_batch_size and all(each.dims and each.dims[0] == -1 for each in tensors):
        config.max_batch_size = _BATCH
        if not config.HasField("sequence_batching"):
            config.dynamic_batching.SetInParent()
    skip = 1 if config.max_batch_size else 0
    for kind, found in (("input", file.inputs), ("output", file.outputs)):
        if not getattr(config, kind):
            for each in found:
                tensor = getattr(config, kind).add(name=each.name, data_type=DataType.Value(each.data_type))
                tensor.dims.extend((each.dims or ())[skip:])


def _is_known(tensor: ModelTensor) -> bool:
    return bool(tensor.data_type) and tensor.dims is not None


def _read(model: Path, name: str) -> ModelFile | None:
    for path in sorted(model.glob(f"[0-9]*/{name}")):
        if path.is_file():
            with path.open("rb") as file:
                return FileReader()(path.name, path.stat().st_size, file, ".onnx")
    return None
