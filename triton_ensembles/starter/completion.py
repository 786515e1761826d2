"""The fields that a config.pbtxt leaves out, from the model's own file. Triton would complete them from the backend;
builds switch that off, so that what is served is what is written."""

from pathlib import Path

from triton_ensembles.checking.model_files.file import ModelFile
from triton_ensembles.checking.model_files.read import FileReader
from triton_ensembles.triton.backends import KNOWN, PLATFORMS
from triton_ensembles.triton.model_config import CONFIG, DataType, ModelConfig, format_config

_BATCH = 4  # core r24.10: what Triton writes for a model that batches, unless the server is told otherwise


def complete(model: Path, config: ModelConfig) -> str:
    """Add to ``config`` and to the config.pbtxt of the folder ``model`` what is not written there, and say what."""
    added = ModelConfig()
    if not config.backend and not config.platform:
        added.backend = _backend_of(model)
    if (added.backend or config.backend or PLATFORMS.get(config.platform)) == "onnxruntime":
        _complete_onnx(model, config, added)
    names = [field.name for field, _ in added.ListFields()]
    if names:
        path = model / CONFIG
        written = path.read_text("utf-8") if path.is_file() else ""
        path.write_text(f"{written.rstrip()}\n\n{format_config(added)}".lstrip(), encoding="utf-8")
        config.MergeFrom(added)
    return ", ".join(names)


def _backend_of(model: Path) -> str:
    """The backend whose file is there, as Triton chooses it."""
    files = {path.name for path in model.glob("[0-9]*/model.*")}
    return next((name for name, (_, file) in KNOWN.items() if file and file in files), "")


def _complete_onnx(model: Path, config: ModelConfig, added: ModelConfig) -> None:
    """As onnxruntime_backend r24.10 does in onnxruntime.cc, AutoCompleteConfig: whole lists of tensors only."""
    kinds = [kind for kind in ("input", "output") if not getattr(config, kind)]
    file = _read(model, config.default_model_filename or "model.onnx") if kinds else None
    if file is None or file.inputs is None or file.outputs is None:
        return
    tensors = {"input": file.inputs, "output": file.outputs}
    every = [tensor for kind_tensors in tensors.values() for tensor in kind_tensors]
    if not all(tensor.data_type and tensor.dims is not None for tensor in every):
        return
    if not config.max_batch_size and all(tensor.dims and tensor.dims[0] == -1 for tensor in every):
        added.max_batch_size = _BATCH
        if not config.HasField("sequence_batching") and not config.HasField("dynamic_batching"):
            added.dynamic_batching.SetInParent()
    skip = 1 if config.max_batch_size or added.max_batch_size else 0
    for kind in kinds:
        for tensor in tensors[kind]:
            data_type, dims = DataType.Value(tensor.data_type), (tensor.dims or ())[skip:]
            getattr(added, kind).add(name=tensor.name, data_type=data_type, dims=dims)


def _read(model: Path, name: str) -> ModelFile | None:
    for path in sorted(model.glob(f"[0-9]*/{name}")):
        if path.is_file():
            with path.open("rb") as file:
                return FileReader()(path.name, path.stat().st_size, file, ".onnx")
    return None
