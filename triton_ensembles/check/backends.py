"""The backend of a model, as Triton finds it (core r24.10 model_config_utils.cc AutoCompleteBackendFields)."""

from __future__ import annotations

from triton_ensembles.check.model import Model

_OF_PLATFORM = {
    "tensorrt_plan": "tensorrt",
    "tensorflow_graphdef": "tensorflow",
    "tensorflow_savedmodel": "tensorflow",
    "onnxruntime_onnx": "onnxruntime",
    "pytorch_libtorch": "pytorch",
    "torch_aoti": "pytorch",
    "ensemble": "ensemble",
}
_OF_FILE = {
    "model.plan": "tensorrt",
    "model.graphdef": "tensorflow",
    "model.savedmodel": "tensorflow",
    "model.onnx": "onnxruntime",
    "model.pt": "pytorch",
    "model.py": "python",
}


def backend_of(model: Model) -> str:
    """Its name, "" when the config does not say it and no file tells."""
    if model.config.backend:
        return model.config.backend
    if model.is_ensemble:
        return "ensemble"
    if found := _OF_PLATFORM.get(model.config.platform):
        return found
    if not model.config.platform:
        for folder in model.versions.values():
            for name in model.children(folder):
                if name in _OF_FILE:
                    return _OF_FILE[name]
    return ""


def brings_backend(model: Model) -> bool:
    """Whether the backend itself lies in the model's folder, where Triton looks before its own folder."""
    names = {f"libtriton_{backend_of(model)}.so"}
    folders = ["", *model.versions.values()]
    return any(name in names for folder in folders for name in model.children(folder))
