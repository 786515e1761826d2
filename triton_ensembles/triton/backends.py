"""The names of Triton's backends, and what people write instead of them."""

from triton_ensembles.ground.spelling import nearest
from triton_ensembles.triton.model_formats import PLATFORMS

ENSEMBLE = "ensemble"
# The branches of NVIDIA's repositories that were compared: build.py of the server, and the stub of the Python backend.
SERVER_BRANCHES, STUB_BRANCHES = "r22.07 to r26.08", "r22.07 to r26.07"

# Those that core chooses by a model's file, in its order.
KNOWN = ("tensorflow", "tensorrt", "onnxruntime", "openvino", "pytorch", "python")
# dali_backend dali_model.h: a pipeline as Python is read where there is no serialized one.
FALLBACK_FILES = {"dali": ("dali.py",)}
# Those that load a file by its name, and those that read none; custom ones may do as they like.
LOADS_FILE = (*KNOWN, "dali", "fil")
LOADS_NONE = ("identity", "repeat", "square")
# Backends that NVIDIA publishes; a custom one may have any other name.
BACKENDS = (*KNOWN, "dali", "fil", "vllm", "tensorrtllm", *LOADS_NONE, "armnn_tflite")
# Those of its examples and of projects that ended: people build them themselves.
UNBUNDLED = ("fastertransformer", "stateful", "hugectr", "hps", "minimal", "recommended", "bls", "iterative_sequence")
# What people write for them.
_ALIASES = {
    "onnx": "onnxruntime", "ort": "onnxruntime", "onnx_runtime": "onnxruntime", "trt": "tensorrt",
    "torch": "pytorch", "libtorch": "pytorch", "torchscript": "pytorch", "pt": "pytorch", "py": "python",
    "python3": "python", "tf": "tensorflow", "savedmodel": "tensorflow", "saved_model": "tensorflow",
    "graphdef": "tensorflow", "ov": "openvino", "trtllm": "tensorrtllm", "tensorrt_llm": "tensorrtllm",
    "trt_llm": "tensorrtllm", "nvidia_dali": "dali", "xgboost": "fil", "lightgbm": "fil", "forest": "fil",
    "sklearn": "python", "scikit_learn": "python", "transformers": "python", "huggingface": "python",
    ENSEMBLE: ENSEMBLE,
}  # fmt: skip


def backend_meant(name: str) -> str | None:
    """The backend that ``name`` probably stands for: another name of it, one of its platforms, or a misspelling."""
    key = name.lower().replace("-", "_")
    if name in BACKENDS or name in UNBUNDLED:
        return None
    return _ALIASES.get(key) or PLATFORMS.get(key) or nearest(name, BACKENDS)
